import { type ChildProcess, fork } from "node:child_process";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { signalTree } from "./process-tree.js";

/** A system user by number, as which a server runs. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

/** What the supervisor needs to start one process. */
export interface SpawnOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly user?: ServerUser;
  /** Receives what the process prints, appended. */
  readonly logFile: string;
  /** Sent first when the test process has gone, for servers that hold more than their folder; else SIGKILL alone. */
  readonly endSignal?: NodeJS.Signals;
}

/** A process below the supervisor. */
export interface SupervisedProcess {
  readonly pid: number;
  /** Resolves with the reason, a signal or an exit code, once it has ended. */
  readonly exited: Promise<string>;
  /** The same, for those who wait: while `exited` lets the test process end, this keeps it alive. */
  untilExit(): Promise<string>;
  /** SIGSTOP, SIGCONT and SIGKILL reach its children as well. */
  signal(signal: NodeJS.Signals): Promise<void>;
}

/** Asks for one process; `id` names the request, and the process in a later "exit". */
export type SpawnRequest = { type: "spawn"; id: number } & SpawnOptions;
/** From the test process to its supervisor. */
export type SupervisorRequest = SpawnRequest | { type: "signal"; id: number; pid: number; signal: NodeJS.Signals };
/** From the supervisor to its test process. */
export type SupervisorReply =
  | { type: "ready"; root: string }
  | { type: "done"; id: number; pid: number }
  | { type: "failed"; id: number; message: string }
  | { type: "exit"; id: number; reason: string };

interface Supervisor {
  /** The folder that disappears, with all it holds, when this process does. */
  readonly root: string;
  spawn(options: SpawnOptions): Promise<SupervisedProcess>;
}

let current: Promise<Supervisor> | undefined;

/** The supervisor of this process, started when first needed. */
export function supervisor(): Promise<Supervisor> {
  current ??= startSupervisor();
  return current;
}

function startSupervisor(): Promise<Supervisor> {
  const child = fork(fileURLToPath(new URL("./supervisor.js", import.meta.url)), [], {
    detached: true,
    // Loaders and inspectors of the test process are not for the supervisor.
    execArgv: [],
    env: { ...process.env, NODE_OPTIONS: "" },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const pending = new Map<number, { resolve: (pid: number) => void; reject: (error: Error) => void }>();
  const running = new Map<number, { pid?: number; exit: (reason: string) => void }>();
  let nextId = 0;
  let waiting = 0;

  // A server that nobody is waiting for must not keep the test process from ending.
  const keepingAlive = async <T>(promise: Promise<T>): Promise<T> => {
    waiting += 1;
    keepAlive(child, true);
    try {
      return await promise;
    } finally {
      waiting -= 1;
      if (waiting === 0) keepAlive(child, false);
    }
  };

  const settle = (id: number) => {
    const waiter = pending.get(id);
    pending.delete(id);
    return waiter;
  };
  const request = (body: SupervisorRequest): Promise<number> =>
    keepingAlive(
      new Promise((resolve, reject) => {
        pending.set(body.id, { resolve, reject });
        child.send(body, (error) => error && settle(body.id)?.reject(error));
      }),
    );

  const spawn = async (options: SpawnOptions): Promise<SupervisedProcess> => {
    const id = nextId++;
    const exited = new Promise<string>((exit) => {
      running.set(id, { exit });
    });
    const pid = await request({ type: "spawn", id, ...options });
    return {
      pid,
      exited,
      untilExit: () => keepingAlive(exited),
      signal: async (signal) => {
        await request({ type: "signal", id: nextId++, pid, signal });
      },
    };
  };

  return new Promise((resolve, reject) => {
    let root: string | undefined;
    // Somebody killed the supervisor, the system short of memory perhaps: its work falls to us.
    const lost = async () => {
      current = undefined;
      const error = new Error("the supervisor of the test servers ended unexpectedly; its servers are killed");
      reject(error);
      for (const id of [...pending.keys()]) settle(id)?.reject(error);
      for (const { pid, exit } of running.values()) {
        if (pid !== undefined) await signalTree(pid, "SIGKILL");
        exit("the loss of its supervisor");
      }
      if (root !== undefined) rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    };
    child.once("error", reject);
    child.once("exit", lost);
    child.on("message", (reply: SupervisorReply) => {
      if (reply.type === "ready") {
        keepAlive(child, false);
        root = reply.root;
        resolve({ root, spawn });
      } else if (reply.type === "exit") {
        running.get(reply.id)?.exit(reply.reason);
        running.delete(reply.id);
      } else if (reply.type === "done") {
        const started = running.get(reply.id);
        if (started !== undefined) started.pid = reply.pid;
        settle(reply.id)?.resolve(reply.pid);
      } else {
        settle(reply.id)?.reject(new Error(reply.message));
      }
    });
  });
}

function keepAlive(child: ChildProcess, alive: boolean): void {
  const change = alive ? "ref" : "unref";
  child[change]();
  child.channel?.[change]();
}
