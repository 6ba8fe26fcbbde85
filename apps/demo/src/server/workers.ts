import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { StoreSource } from "../service/store-source.ts";
import type { WorkerPorts } from "../service/worker.ts";
import type { Instance } from "../shared/messages.ts";
import { type Call, type Handler, rpc } from "../shared/rpc.ts";

/** A service process that answers. */
export interface Worker {
  readonly pid: number;
  readonly ports: WorkerPorts;
}

/** The two processes of the service. One that dies is started again. */
export interface Workers {
  get(instance: Instance): Worker | undefined;
  /** All processes serve from this store, also those that start later. */
  use(source: StoreSource): Promise<void>;
  /** SIGKILL: the process gets no chance to say anything. Resolves when it has died. */
  kill(instance: Instance): Promise<void>;
  /** Resolves when the process answers (again). */
  ready(instance: Instance): Promise<void>;
  close(): Promise<void>;
}

const script = fileURLToPath(new URL("../service/worker.ts", import.meta.url));

/** Starts both processes on a store. */
export async function startWorkers(
  first: StoreSource,
  handlers: Readonly<Record<string, Handler>>,
  onChange: () => void,
): Promise<Workers> {
  let source = first;
  let closing = false;
  const children = new Map<Instance, { child: ChildProcess; call: Call; worker?: Worker; ready: Promise<void> }>();

  function start(instance: Instance): Promise<void> {
    // The loader that this process runs under is for the child too.
    const child = fork(script, [instance], { execArgv: ["--import", "tsx"], serialization: "advanced" });
    let announce: (ports: WorkerPorts) => void = () => {};
    const announced = new Promise<WorkerPorts>((resolve) => {
      announce = resolve;
    });
    const call = rpc(child, { ...handlers, "service.ready": ([ports]) => announce(ports as WorkerPorts) });
    const died = once(child, "exit");
    const ready = Promise.race([
      announced.then(async (ports) => {
        let used: StoreSource;
        // The store may be changed while the process starts.
        do {
          used = source;
          await call("service.use", [used]);
        } while (used !== source);
        children.set(instance, { child, call, ready, worker: { pid: child.pid ?? 0, ports } });
        onChange();
      }),
      died.then(([code, signal]) => {
        if (!closing) throw new Error(`service process ${instance} ended with ${signal ?? `code ${code}`}`);
      }),
    ]);
    // Whoever waits for it hears of it; if nobody does, it must not end this process.
    ready.catch(() => {});
    children.set(instance, { child, call, ready });
    died.then(() => {
      // One that never answered would die again.
      if (closing || !children.get(instance)?.worker) return;
      start(instance);
      onChange();
    });
    return ready;
  }

  await Promise.all([start("A"), start("B")]);
  return {
    get: (instance) => children.get(instance)?.worker,
    async use(next) {
      source = next;
      await Promise.all([...children.values()].map(({ call, worker }) => worker && call("service.use", [next])));
    },
    async kill(instance) {
      const { child } = children.get(instance)!;
      const died = once(child, "exit");
      child.kill("SIGKILL");
      await died;
    },
    ready: async (instance) => children.get(instance)?.ready,
    async close() {
      closing = true;
      await Promise.all(
        [...children.values()].map(async ({ child, call }) => {
          if (child.exitCode !== null || child.signalCode !== null) return;
          const died = once(child, "exit");
          await call("service.close", []).catch(() => {});
          child.kill("SIGKILL");
          await died;
        }),
      );
    },
  };
}
