import { mkdtempSync } from "node:fs";
import { chown, mkdir, readFile, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { type ServerUser, type SupervisedProcess, supervisor } from "./supervisor-client.ts";

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 10_000;
const LOG_LINES_IN_ERRORS = 15;

/** What a test may do to a server of its own. Every promise resolves once the thing has really happened. */
export interface ServerControl {
  /** The process id, or `undefined` while the server is down. It changes with every restart. */
  readonly pid: number | undefined;
  /** The server's temporary folder. */
  readonly dir: string;
  /**
   * Shuts the server down in its orderly way and removes its folder; with `keepData` the folder stays, for a later
   * {@link ServerControl.restart}. Does nothing when already stopped.
   */
  stop(options?: { readonly keepData?: boolean }): Promise<void>;
  /** SIGKILL to the server and all its children: a crash. */
  kill(): Promise<void>;
  /** SIGSTOP to the server and all its children: connections stay open, the kernel still accepts, nothing answers. */
  pause(): Promise<void>;
  /** SIGCONT: undoes {@link ServerControl.pause}. */
  resume(): Promise<void>;
  /**
   * Starts the server again on the same port, after an orderly shutdown if it still runs. `empty` throws its data
   * away first.
   */
  restart(options?: { readonly empty?: boolean }): Promise<void>;
  /** The last lines the server printed. */
  log(lines?: number): Promise<string>;
}

/** How to run one kind of server. */
export interface ServerRecipe {
  readonly command: string;
  readonly args: (dir: string) => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly user?: ServerUser | undefined;
  /** Fills the empty folder: configuration, data directory. */
  readonly prepare: (dir: string) => Promise<void>;
  /** Asks whoever listens who it is. Rejects while nobody answers. */
  readonly whoListens: () => Promise<unknown>;
  /** The answer of the right one, as opposed to a stranger who took the port first. */
  readonly itself: (dir: string, pid: number) => unknown;
  readonly stopSignal: NodeJS.Signals;
  readonly endSignal?: NodeJS.Signals;
  /** Frees what a killed process leaves outside of its folder. */
  readonly afterKill?: (dir: string) => Promise<void>;
}

/** Starts a server in a new temporary folder, and waits until it answers. */
export async function startServer(recipe: ServerRecipe): Promise<ServerControl> {
  const { root, spawn } = await supervisor();
  const name = basename(recipe.command);
  const dir = mkdtempSync(join(root, `${name}-`));
  const logFile = join(root, `${basename(dir)}.log`);
  let running: SupervisedProcess | undefined;

  const log = async (lines = LOG_LINES_IN_ERRORS) => {
    const text = await readFile(logFile, "utf8").catch(() => "");
    return text.trimEnd().split("\n").slice(-lines).join("\n");
  };

  const prepare = async () => {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    if (recipe.user !== undefined) await chown(dir, recipe.user.uid, recipe.user.gid);
    await recipe.prepare(dir);
  };

  const launch = async () => {
    const { command, env, user, endSignal } = recipe;
    const process = await spawn({
      command,
      args: recipe.args(dir),
      cwd: dir,
      logFile,
      ...(env && { env }),
      ...(user && { user }),
      ...(endSignal && { endSignal }),
    });
    running = process;
    let ended: string | undefined;
    process.exited.then((reason) => {
      ended = reason;
      if (running === process) running = undefined;
    });
    const expected = recipe.itself(dir, process.pid);
    const isItself = async () => ended !== undefined || (await recipe.whoListens()) === expected;
    const options = { what: `${name} answers`, timeoutMs: START_TIMEOUT_MS };
    const answered = await eventually(isItself, options).catch((error: Error) => error);
    if (answered === true && ended === undefined) return;
    await kill();
    const reason = ended === undefined ? (answered as Error).message : `it ended with ${ended}`;
    throw new Error(`${name} did not start: ${reason}. Its last words:\n${await log()}`);
  };

  const kill = async () => {
    const process = running;
    if (process === undefined) return;
    await process.signal("SIGKILL");
    await process.untilExit();
    running = undefined;
    await recipe.afterKill?.(dir);
  };

  const shutDown = async () => {
    const process = running;
    if (process === undefined) return;
    await process.signal(recipe.stopSignal);
    // A paused server would never see the request to stop.
    await process.signal("SIGCONT");
    const patience = new AbortController();
    const tooLong = sleep(STOP_TIMEOUT_MS, "too long", { signal: patience.signal }).catch(() => "stopped");
    const outcome = await Promise.race([process.untilExit(), tooLong]);
    patience.abort();
    if (outcome === "too long") await kill();
    running = undefined;
  };

  const mustRun = (): SupervisedProcess => {
    if (running === undefined) throw new Error(`${name} is not running: call restart() first`);
    return running;
  };

  const control: ServerControl = {
    get pid() {
      return running?.pid;
    },
    dir,
    log,
    kill,
    stop: async ({ keepData = false } = {}) => {
      await shutDown();
      if (!keepData) await rm(dir, { recursive: true, force: true, maxRetries: 10 });
    },
    pause: async () => mustRun().signal("SIGSTOP"),
    resume: async () => mustRun().signal("SIGCONT"),
    restart: async ({ empty = false } = {}) => {
      await shutDown();
      if (empty) {
        await rm(dir, { recursive: true, force: true, maxRetries: 10 });
        await prepare();
      }
      await launch();
    },
  };

  try {
    await prepare();
    await launch();
    return control;
  } catch (error) {
    await control.stop();
    throw error;
  }
}

/**
 * Starts something on a free port, on another one if somebody else was quicker to take it.
 *
 * @param fixed - A port the caller insists on: one attempt.
 */
export async function onFreePort<T>(
  start: (port: number) => Promise<T>,
  { fixed, alsoAt = [] }: { readonly fixed?: number | undefined; readonly alsoAt?: readonly number[] } = {},
): Promise<T> {
  if (fixed !== undefined) return start(fixed);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start(await freePort(...alsoAt));
    } catch (error) {
      const taken = error instanceof Error && /address already in use/i.test(error.message);
      if (!taken || attempt === 5) throw error;
    }
  }
}
