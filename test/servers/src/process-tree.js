// Signals for a process and everything below it. A process group is not enough: every Postgres backend leads its own.
// Plain JavaScript, because the supervisor runs it on Node 20 without a loader.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const hasProc = existsSync("/proc/self/stat");

/**
 * Pauses, resumes or kills a process with all its descendants; any other signal goes to the process alone,
 * because servers pass an orderly shutdown on by themselves.
 *
 * @param {number} pid
 * @param {NodeJS.Signals} signal
 */
export async function signalTree(pid, signal) {
  if (signal === "SIGSTOP" || signal === "SIGKILL") {
    // A stopped parent forks no more, so that nobody slips through between listing and killing.
    const stopped = await stopTree(pid);
    if (signal === "SIGKILL") {
      for (const each of stopped) send(each, "SIGKILL");
      for (const each of stopped) await untilIn("ZX", each);
    }
  } else if (signal === "SIGCONT") {
    for (const each of [...descendants(pid), pid]) send(each, "SIGCONT");
  } else {
    send(pid, signal);
  }
}

/** @param {number} root */
async function stopTree(root) {
  /** @type {Set<number>} */
  const stopped = new Set();
  for (;;) {
    const fresh = [root, ...descendants(root)].filter((pid) => !stopped.has(pid));
    if (fresh.length === 0) return stopped;
    for (const pid of fresh) {
      send(pid, "SIGSTOP");
      stopped.add(pid);
    }
    for (const pid of fresh) await untilIn("TtZX", pid);
  }
}

/**
 * kill(2) returns before the target has noticed; a "paused" server must not answer one more request, and a killed one
 * must not hold on to its files.
 *
 * @param {string} states As in /proc/[pid]/stat. A process that is gone needn't be waited for in any case.
 * @param {number} pid
 */
async function untilIn(states, pid) {
  for (let attempt = 0; attempt < 2000; attempt += 1) {
    const state = stateOf(pid);
    if (state === undefined || states.includes(state)) return;
    await sleep(1);
  }
}

/** @param {number} root @returns {number[]} */
function descendants(root) {
  /** @type {Map<number, number[]>} */
  const children = new Map();
  for (const [pid, parent] of processes()) {
    const siblings = children.get(parent) ?? [];
    siblings.push(pid);
    children.set(parent, siblings);
  }
  const found = [...(children.get(root) ?? [])];
  for (const pid of found) found.push(...(children.get(pid) ?? []));
  return found;
}

/** @returns {Array<[pid: number, parent: number]>} */
function processes() {
  if (!hasProc) {
    const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).trim().split("\n");
    return lines.map((line) => {
      const [pid, parent] = line.trim().split(/\s+/);
      return [Number(pid), Number(parent)];
    });
  }
  return readdirSync("/proc").flatMap((name) => {
    const stat = /^\d+$/.test(name) ? procStat(Number(name)) : undefined;
    return stat === undefined ? [] : [[Number(name), Number(stat[1])]];
  });
}

/** @param {number} pid */
function stateOf(pid) {
  return hasProc ? procStat(pid)?.[0] : undefined;
}

/**
 * The fields from the state on. They follow the command's name, which may itself hold spaces and brackets.
 *
 * @param {number} pid
 */
function procStat(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined; // It ended while we looked.
  }
}

/** @param {number} pid @param {NodeJS.Signals} signal */
function send(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // Already gone is what every caller wants in the end.
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== "ESRCH") throw error;
  }
}
