import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

/** Clients under test run on core 0, servers and load on core 1. */
export const clientCore = 0;
export const serverCore = 1;

/** Unpinned, a round trip over loopback takes 18 or 68 µs by chance. */
export const canPin = availableParallelism() >= 2 && works("taskset", ["-c", "0", "true"]);

/** The command, on one core where that can be done. */
export function pinned(core: number | undefined, command: readonly string[]): string[] {
  return canPin && core !== undefined ? ["taskset", "-c", String(core), ...command] : [...command];
}

/** Moves a server, with its threads and children, to its core. */
export function pinServer(pid: number): void {
  if (!canPin) return;
  for (const process of [pid, ...childrenOf(pid)]) works("taskset", ["-acp", String(serverCore), String(process)]);
}

function childrenOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    return children === "" ? [] : children.split(" ").map(Number);
  } catch {
    return [];
  }
}

function works(command: string, args: readonly string[]): boolean {
  try {
    execFileSync(command, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
