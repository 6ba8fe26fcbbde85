import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Framework } from "../src/shared/messages.ts";

/** A playground in a process of its own, as `pnpm demo` starts it. */
export interface PlaygroundProcess {
  readonly url: string;
  readonly addresses: Readonly<Record<Framework, string>>;
  readonly child: ChildProcess;
  /** All that it printed so far. */
  output(): string;
  /** Ctrl-C; resolves with the exit code. */
  stop(): Promise<number | null>;
}

/** Options of {@link startPlaygroundProcess}. */
export interface StartOptions {
  readonly port?: number;
  readonly env?: Readonly<Record<string, string>>;
}

const folder = fileURLToPath(new URL("..", import.meta.url));

/** Starts a playground; by default on ports that are free. */
export async function startPlaygroundProcess({ port = 0, env = {} }: StartOptions = {}): Promise<PlaygroundProcess> {
  const args = ["--import", "tsx", "src/main.ts", "--no-open", "--port", String(port)];
  // Servers of others, named for other tests, are not ours to use unless a test says so.
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, NODE_OPTIONS: "", REDIS_URL: "", DATABASE_URL: "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const ended = once(child, "exit");
  const ready = new Promise<void>((resolve) => {
    const read = (chunk: Buffer) => {
      output += chunk.toString("utf8");
      if (/hono +http:.*\n/.test(output)) resolve();
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
  });
  await Promise.race([ready, ended.then(() => Promise.reject(new Error(`the playground ended:\n${output}`)))]);
  const address = (name: string) => new RegExp(`${name} +(http:\\S+)`).exec(output)?.[1] ?? "";
  return {
    url: address("playground is at"),
    addresses: { express: address("express"), fastify: address("fastify"), hono: address("hono") },
    child,
    output: () => output,
    async stop() {
      child.kill("SIGINT");
      await ended;
      return child.exitCode;
    },
  };
}
