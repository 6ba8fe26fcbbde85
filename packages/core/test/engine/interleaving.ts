import { memoryBackend, memoryStore } from "@onceward/store-memory";
import { vi } from "vitest";
import { type OncewardOptions, onceward, type RunRequest, type Store, StoreUnavailableError } from "../../src/index.ts";
import { deferred } from "./faulty-store.ts";
import { type Answered, createJudge, type Run } from "./judge.ts";
import { follow } from "./world.ts";

/** How often each kind of mishap may happen in one schedule. */
export interface Mishaps {
  /** The work throws. */
  readonly failures: number;
  /** A process is gone; what it sent may still arrive. */
  readonly crashes: number;
  /** A call arrives, its reply doesn't, and the caller is told so. */
  readonly lostReplies: number;
  /** A call doesn't arrive, and the caller is told so. */
  readonly refusals: number;
  /** Time passes until the next timer fires, though there are other things to do. */
  readonly timers: number;
  /** As much time passes as a lease lasts. */
  readonly jumps: number;
  /** The same, but only on the store's clock: everybody was paused. */
  readonly stalls: number;
  /** A caller's client goes away. */
  readonly departures: number;
}

/** Who calls, from which process, and what may go wrong. */
export interface Scenario {
  readonly callers: readonly ({ readonly process: number } & Partial<RunRequest<string>>)[];
  readonly mishaps?: Partial<Mishaps>;
  readonly options?: Partial<OncewardOptions>;
  /** The store can't push. */
  readonly withoutWatch?: boolean;
  /** The work records a step before it does the rest. */
  readonly steps?: boolean;
}

/** Something that can happen next. Those that need no mishap come first; always taking the first one ends every schedule. */
export interface Step {
  readonly name: string;
  readonly mishap?: keyof Mishaps;
  readonly happen: () => void | Promise<void>;
}

interface Call {
  readonly name: string;
  readonly process: number;
  readonly send: () => Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly pointless: () => boolean;
  reply?: { readonly value: unknown } | "awaited";
}

const realTurn = setImmediate;
/** Everything happens that needs neither time nor the store: nothing here does I/O, so one turn of the loop is enough. */
const quiet = (): Promise<void> => new Promise((resolve) => void realTurn(resolve));
const leaseMs = 900;
/** Outlasts every timer. */
const ttlMs = 100 * 365 * 24 * 3_600_000;
const name = { operation: "pay", key: "a-key-of-twelve" };

/**
 * Plays one schedule: `choose` decides what happens next at every point where the order is open, that is when a call starts,
 * when each request arrives at the store, when each reply comes back, when the work ends, and when time passes.
 * Rejects with the schedule when something happened that must never happen. Needs fake timers.
 */
export async function play(scenario: Scenario, choose: (steps: readonly Step[]) => Step): Promise<readonly string[]> {
  let skewMs = 0;
  const left = { failures: 0, crashes: 0, lostReplies: 0, refusals: 0, timers: 0, jumps: 0, stalls: 0, departures: 0 };
  Object.assign(left, scenario.mishaps);
  const backend = memoryBackend({ now: () => Date.now() + skewMs });
  const judge = createJudge(backend);
  const crashed = new Set<number>();
  const calls = new Set<Call>();
  const schedule: string[] = [];
  const used = new Set<keyof Mishaps>();
  let strict = true;
  let free = false;

  /** A store whose every request and every reply waits for its turn. */
  function storeOf(process: number): Store {
    const store = judge.watchStore(memoryStore({ backend }));
    const through = <Result>(called: string, send: () => Promise<Result>, pointless = () => false): Promise<Result> => {
      if (crashed.has(process)) return new Promise(() => {});
      if (free) return send();
      const { promise, resolve, reject } = deferred<unknown>();
      calls.add({ name: `${called} of ${process}`, process, send, resolve, reject, pointless });
      return promise as Promise<Result>;
    };
    return {
      ...store,
      claim: (id, request) => through("claim", () => store.claim(id, request)),
      complete: (id, ...rest) => through("complete", () => store.complete(id, ...rest)),
      release: (id, token) => through("release", () => store.release(id, token)),
      renew: (id, ...rest) => through("renew", () => store.renew(id, ...rest)),
      saveStep: (id, ...rest) => through("saveStep", () => store.saveStep(id, ...rest)),
      find: (id) => through("find", () => store.find(id)),
      watch: scenario.withoutWatch
        ? (undefined as never)
        : (id, fence, signal) =>
            through(
              "watch",
              () => store.watch(id, fence, signal),
              () => signal.aborted,
            ),
    };
  }

  const processes = [...new Set(scenario.callers.map(({ process }) => process))].map((process) => {
    const options = { ttlMs, leaseMs, waitMs: 4_000, completeWaitMs: 300, sweepIntervalMs: 0, ...scenario.options };
    return { process, once: onceward({ store: storeOf(process), ...options }) };
  });

  const callers = scenario.callers.map(({ process, fingerprint = "a", ...request }, caller) => {
    const client = new AbortController();
    const { once } = processes.find((candidate) => candidate.process === process) ?? {};
    const start = () =>
      once?.run<string>({ ...name, fingerprint, ...request, signal: client.signal }, async (context) => {
        const run = judge.started({ caller, process, context, fingerprint, gone: client.signal.aborted });
        const end = deferred<string>();
        if (scenario.steps) await context.step("reserve", () => judge.stepRuns(run));
        running.set(run, end);
        return end.promise;
      }) as Promise<{ value: string; replayed: boolean }>;
    return { caller, process, fingerprint, client, start, answer: undefined as Answered["answer"] | undefined };
  });
  const running = new Map<Run, ReturnType<typeof deferred<string>>>();
  const alive = ({ process }: { readonly process: number }) => !crashed.has(process);
  const answered = () =>
    callers.every((caller) => !alive(caller) || (caller.answer && caller.answer.state !== "pending"));

  const drop = (call: Call) => void calls.delete(call);
  function arrive(call: Call): void {
    call.reply = "awaited";
    call.send().then((value) => {
      call.reply = { value };
      if (!alive(call)) drop(call);
      else if (free) call.resolve(value);
    }, call.reject);
  }
  /** From now on nothing is held back. */
  function deliver(call: Call): void {
    if (call.reply === undefined) arrive(call);
    else if (call.reply !== "awaited") call.resolve(call.reply.value);
  }
  function end(run: Run, happen: (end: ReturnType<typeof deferred<string>>) => void): void {
    const work = running.get(run);
    running.delete(run);
    judge.ended(run);
    if (work) happen(work);
  }

  const storeFailed = () => used.has("refusals") || used.has("lostReplies");
  /** Why a caller may have got no value. */
  function excused(): string[] {
    const differing = new Set(callers.map(({ fingerprint }) => fingerprint)).size > 1;
    return [
      ...(strict ? [] : ["ERR_IN_PROGRESS"]),
      ...(scenario.options?.takeover === false ? ["ERR_OUTCOME_UNKNOWN"] : []),
      ...(differing ? ["ERR_KEY_REUSED"] : []),
      ...(scenario.steps && (!strict || used.has("stalls")) ? ["ERR_LEASE_LOST"] : []),
      ...(used.has("failures") ? ["declined"] : []),
      ...(used.has("departures") ? ["gone"] : []),
      ...(storeFailed() ? ["ERR_STORE_UNAVAILABLE"] : []),
    ];
  }

  /** What can happen now. */
  function steps(): Step[] {
    const plain: Step[] = [];
    const mishaps: Step[] = [];
    const mishap = (kind: keyof Mishaps, what: string, happen: Step["happen"]) => {
      const once = () => {
        left[kind]--;
        return happen();
      };
      if (left[kind] > 0) mishaps.push({ name: what, mishap: kind, happen: once });
    };
    for (const caller of callers) {
      if (caller.answer || !alive(caller)) continue;
      const happen = () => {
        caller.answer = follow(caller.start());
      };
      plain.push({ name: `caller ${caller.caller} calls`, happen });
      // Always in their order: what matters is the order in which their requests arrive.
      break;
    }
    for (const call of calls) {
      if (call.pointless()) {
        drop(call);
        continue;
      }
      const { reply } = call;
      if (reply === "awaited") continue;
      if (reply === undefined) {
        plain.push({ name: `${call.name} arrives`, happen: () => arrive(call) });
        mishap("refusals", `${call.name} is refused`, () => {
          drop(call);
          call.reject(new StoreUnavailableError("refused"));
        });
      } else {
        plain.push({
          name: `${call.name} is answered`,
          happen: () => {
            drop(call);
            call.resolve(reply.value);
          },
        });
        mishap("lostReplies", `reply to ${call.name} is lost`, () => {
          drop(call);
          call.reject(new StoreUnavailableError("reply lost"));
        });
      }
    }
    for (const run of running.keys()) {
      if (!alive(run)) continue;
      plain.push({ name: `run ${run.number} ends`, happen: () => end(run, ({ resolve }) => resolve(run.value)) });
      mishap("failures", `run ${run.number} throws`, () => end(run, ({ reject }) => reject(new Error("declined"))));
    }
    if (plain.length === 0 && answered()) return [];
    if (plain.length === 0) plain.push({ name: "a timer fires", happen: () => passTime() });
    else mishap("timers", "a timer fires early", () => passTime());
    for (const caller of callers) {
      if (caller.answer?.state !== "pending" || caller.client.signal.aborted || !alive(caller)) continue;
      mishap("departures", `client ${caller.caller} goes`, () => caller.client.abort(new Error("gone")));
    }
    for (const { process } of processes) {
      if (!crashed.has(process)) mishap("crashes", `process ${process} crashes`, () => crash(process));
    }
    mishap("jumps", "a lease's time passes", () => passTime(leaseMs));
    mishap("stalls", "the store's clock moves on by a lease", () => {
      skewMs += leaseMs;
      judge.stalled();
    });
    return [...plain, ...mishaps];
  }
  async function passTime(milliseconds?: number): Promise<void> {
    strict = false;
    if (milliseconds === undefined) vi.advanceTimersToNextTimer();
    await quiet();
    for (let passed = 0; passed < (milliseconds ?? 0); passed += leaseMs / 6) {
      vi.advanceTimersByTime(leaseMs / 6);
      await quiet();
    }
  }
  function crash(process: number): void {
    crashed.add(process);
    judge.crashed(process);
    // What was answered is not heard any more; what was sent may arrive.
    for (const call of calls) if (call.process === process && call.reply) drop(call);
  }

  try {
    for (;;) {
      const possible = steps();
      if (possible.length === 0) break;
      const step = choose(possible);
      schedule.push(step.name);
      if (step.mishap) used.add(step.mishap);
      await step.happen();
      await quiet();
      judge.look();
      if (schedule.length > 500) throw new Error("it does not end");
    }
    for (const { caller, answer, process, fingerprint } of callers) {
      if (answer && alive({ process }))
        judge.answered({ caller, process, fingerprint, answer, excused: excused(), strict: strict && !storeFailed() });
    }
    judge.look();
    // Whatever happened: no key is wedged, here or in a process that comes later, and nothing was changed by those who are late.
    free = true;
    for (const call of calls) deliver(call);
    processes.push({ process: -1, once: onceward({ store: storeOf(-1), ttlMs, sweepIntervalMs: 0 }) });
    for (const { process, once } of processes.filter(alive)) {
      const fingerprint = judge.fingerprint() ?? "a";
      const probe = follow(
        once.run<string>({ ...name, fingerprint, waitMs: 60_000, takeover: true }, () => `<probe ${fingerprint}>`),
      );
      await quiet();
      for (let turn = 0; probe.state === "pending" && turn < 100; turn++) await passTime();
      judge.answered({ caller: -1, process, fingerprint, answer: probe, excused: [], strict: false });
      judge.look();
    }
    for (const { once } of processes.filter(alive)) void once.close({ drainMs: 0 });
    for (let turn = 0; turn < 10; turn++) await passTime();
    if (crashed.size === 0 && vi.getTimerCount() > 0) throw new Error(`${vi.getTimerCount()} timers are left`);
  } catch (error) {
    throw new Error(`${(error as Error).message}\nSchedule:\n  ${schedule.join("\n  ")}`, { cause: error });
  } finally {
    vi.clearAllTimers();
  }
  return schedule;
}
