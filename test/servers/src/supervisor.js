// The parent of every server that one test process starts. It outlives that process by a moment: when the channel to
// it closes, for whatever reason (exit, Ctrl-C, kill -9), it ends the servers and removes their folders.
// Plain JavaScript, because it runs on Node 20 without a loader.
import { spawn } from "node:child_process";
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { signalTree } from "./process-tree.js";

/** @import { SupervisorReply, SupervisorRequest, SpawnRequest } from "./supervisor-client.ts" */

const root = mkdtempSync(join(tmpdir(), "onceward-servers-"));
// Servers that refuse to run as root must be able to reach their own folders in it.
chmodSync(root, 0o711);
/** @type {Map<number, { exited: Promise<unknown>, endSignal: NodeJS.Signals | undefined }>} */
const running = new Map();
let ending = false;

process.on("disconnect", end);
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) process.on(signal, end);
process.on("message", async (/** @type {SupervisorRequest} */ request) => {
  try {
    const pid = request.type === "spawn" ? await start(request) : request.pid;
    if (request.type === "signal" && running.has(pid)) await signalTree(pid, request.signal);
    reply({ type: "done", id: request.id, pid });
  } catch (error) {
    reply({ type: "failed", id: request.id, message: error instanceof Error ? error.message : String(error) });
  }
});
reply({ type: "ready", root });

/** @param {SpawnRequest} request @returns {Promise<number>} */
function start({ id, command, args, cwd, env, user, logFile, endSignal }) {
  if (ending) throw new Error("the supervisor is ending");
  const log = openSync(logFile, "a");
  // `detached`: Ctrl-C in the terminal must reach the tests only, so that they see no server vanish.
  const child = spawn(command, args, { cwd, env, ...user, detached: true, stdio: ["ignore", log, log] });
  closeSync(log);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    const { pid } = child;
    if (pid === undefined) return;
    /** @type {Promise<void>} */
    const exited = new Promise((done) => {
      child.once("exit", (code, signal) => {
        running.delete(pid);
        reply({ type: "exit", id, reason: signal ?? `exit code ${code}` });
        done();
      });
    });
    running.set(pid, { exited, endSignal });
    resolve(pid);
  });
}

async function end() {
  if (ending) return;
  ending = true;
  const orderly = [...running].filter(([, { endSignal }]) => endSignal !== undefined);
  for (const [pid, { endSignal }] of orderly) {
    await signalTree(pid, "SIGCONT");
    if (endSignal !== undefined) await signalTree(pid, endSignal);
  }
  await Promise.race([Promise.all(orderly.map(([, { exited }]) => exited)), sleep(3_000)]);
  const rest = [...running];
  for (const [pid] of rest) await signalTree(pid, "SIGKILL");
  await Promise.race([Promise.all(rest.map(([, { exited }]) => exited)), sleep(3_000)]);
  rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  process.exit(0);
}

/** @param {SupervisorReply} message */
function reply(message) {
  // The other side may be gone already; then nobody is left to tell.
  if (process.connected) process.send?.(message, () => undefined);
}
