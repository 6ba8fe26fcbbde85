import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { KitProcess } from "../../src/index.ts";
import type { BindingName } from "./bindings.ts";

const script = fileURLToPath(new URL("process.ts", import.meta.url));

/** Starts a server of that binding and store, and waits until it listens. */
export async function startProcess(
  binding: BindingName,
  store: "redis" | "postgres",
  url: string,
  leaseMs: number,
): Promise<KitProcess> {
  const child = fork(script, [binding, store, url, String(leaseMs)], { execArgv: ["--import", "tsx"] });
  const exited = once(child, "exit");
  const [{ port }] = (await Promise.race([
    once(child, "message"),
    exited.then(([code]) => Promise.reject(new Error(`The server's process ended with ${code}`))),
  ])) as [{ port: number }];
  return {
    port,
    pid: child.pid as number,
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
