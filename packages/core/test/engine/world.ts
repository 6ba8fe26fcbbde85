import { type MemoryBackend, memoryBackend, memoryStore } from "@onceward/store-memory";
import { vi } from "vitest";
import { type Context, type Onceward, type OncewardEvent, type OncewardOptions, onceward } from "../../src/index.ts";
import { crashed, deferred, type FaultyStore, faultyStore } from "./faulty-store.ts";

/** One of several processes on one server. */
export interface Process {
  readonly once: Onceward;
  readonly store: FaultyStore;
  readonly events: OncewardEvent[];
  /** Types of the events so far. */
  readonly heard: () => string[];
  /** It is gone: no call of it arrives any more. */
  readonly crash: () => void;
}

/** A server, and a clock that everything goes by. */
export interface World {
  readonly backend: MemoryBackend;
  readonly process: (options?: Omit<OncewardOptions, "store">, without?: readonly ("watch" | "sweep")[]) => Process;
  /** Lets time pass, and everything happen that is due. */
  readonly pass: (milliseconds: number) => Promise<void>;
  /** Lets everything happen that needs no time. */
  readonly settle: () => Promise<void>;
}

/** Makes a world whose clock only moves when told to; `vi.useRealTimers()` ends it. */
export function createWorld(): World {
  vi.useFakeTimers();
  const backend = memoryBackend({ now: () => Date.now() });
  const pass = async (milliseconds: number) => {
    await vi.advanceTimersByTimeAsync(milliseconds);
    // What the last timer set off needs a turn of its own.
    await vi.advanceTimersByTimeAsync(0);
  };
  return {
    backend,
    pass,
    settle: () => pass(0),
    process: (options = {}, without = []) => {
      const store = faultyStore(memoryStore({ backend }), without);
      const once = onceward({ store, ...options });
      const events: OncewardEvent[] = [];
      once.on("*", (event) => events.push(event));
      const heard = () => events.map(({ type }) => type);
      return { once, store, events, heard, crash: () => store.everything(crashed) };
    },
  };
}

/** Work whose end the test decides, and that remembers each of its runs. */
export interface Work<Value> {
  (context: Context): Promise<Value>;
  readonly runs: {
    readonly context: Context;
    readonly end: (value: Value) => void;
    readonly fail: (error: unknown) => void;
  }[];
}

/** See {@link Work}. */
export function controlledWork<Value = string>(): Work<Value> {
  const runs: Work<Value>["runs"][number][] = [];
  const work = (context: Context) => {
    const { promise, resolve, reject } = deferred<Value>();
    runs.push({ context, end: resolve, fail: reject });
    return promise;
  };
  return Object.assign(work, { runs });
}

/** Follows a promise without waiting for it; its rejection is not unhandled. */
export function follow<Value>(promise: Promise<Value>): {
  readonly promise: Promise<Value>;
  state: "pending" | "fulfilled" | "rejected";
  value?: Value;
  error?: { code?: string; message: string };
} {
  const followed: ReturnType<typeof follow<Value>> = { promise, state: "pending" };
  promise.then(
    (value) => Object.assign(followed, { state: "fulfilled", value }),
    (error) => Object.assign(followed, { state: "rejected", error }),
  );
  return followed;
}
