import { readdirSync, readFileSync } from "node:fs";

/** The state letter of a process (`T` is stopped), or `undefined` when it is gone, unburied ones included. */
export function processState(pid: number): string | undefined {
  const state = stat(pid)?.[0];
  return state === "Z" ? undefined : state;
}

/** The process that started another. */
export function parentOf(pid: number): number {
  return Number(stat(pid)?.[1]);
}

/** From the state on: the fields before it are the id and the command's name, in brackets. */
function stat(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}

/** The processes whose command line mentions a text. */
export function processesMentioning(text: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(text);
      } catch {
        return false;
      }
    });
}

/** The System V shared memory segments that these processes made: the one thing of Postgres outside of its folder. */
export function sharedMemoryOf(pids: readonly number[]): string[] {
  // key shmid perms size cpid ...
  const lines = readFileSync("/proc/sysvipc/shm", "latin1").trim().split("\n").slice(1);
  return lines.filter((line) => pids.includes(Number(line.trim().split(/\s+/)[4])));
}
