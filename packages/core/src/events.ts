import type { LeaseLossReason, OncewardError } from "./errors.ts";

/** What every event about one operation carries. Keys are masked; ids are hashes. */
export interface OperationEvent {
  /** Milliseconds since the epoch, on this process's clock. */
  readonly at: number;
  readonly id: string;
  readonly operation: string | undefined;
  readonly scope: string | undefined;
  /** Masked, as `550e****0000`. */
  readonly key: string;
}

/** The closed union of what Onceward tells of operations. */
export type RunEvent = OperationEvent &
  (
    | { readonly type: "claimed"; readonly fence: number; readonly attempt: number; readonly durationMs: number }
    /** A former runner's lease ran out and this claim took the record over. */
    | { readonly type: "abandoned"; readonly fence: number; readonly attempt: number }
    | {
        readonly type: "completed";
        readonly fence: number;
        readonly runMs: number;
        readonly storeMs: number;
        readonly bytes: number;
      }
    | { readonly type: "released"; readonly fence: number; readonly runMs: number; readonly reason: ReleaseReason }
    | { readonly type: "replayed"; readonly via: "store" | "join"; readonly ageMs: number; readonly durationMs: number }
    /** The key was used before with another payload. */
    | { readonly type: "conflict" }
    /** A duplicate found the work running and begins to wait. */
    | { readonly type: "waiting" }
    | { readonly type: "waited"; readonly waitedMs: number }
    | { readonly type: "wait-timeout"; readonly waitedMs: number }
    | { readonly type: "too-many-waiters"; readonly waiters: number }
    | { readonly type: "outcome-unknown"; readonly attempt: number }
    | { readonly type: "lease-renewed"; readonly fence: number; readonly durationMs: number }
    | { readonly type: "lease-lost"; readonly fence: number; readonly reason: LeaseLossReason }
    | { readonly type: "step"; readonly fence: number; readonly step: string; readonly skipped: boolean }
    /** The outcome can't be kept; duplicates will be told so. */
    | { readonly type: "oversize"; readonly bytes: number; readonly limit: number; readonly reason: NotKeptReason }
    /** The work runs although nobody knows whether it ran before: the store is down and `failOpen` is on. */
    | { readonly type: "failed-open"; readonly error: OncewardError }
    | { readonly type: "store-error"; readonly call: StoreCall; readonly error: unknown }
    /** A header of the response that replays won't have; over HTTP. */
    | { readonly type: "header-dropped"; readonly header: string }
  );

/** Why a claim ended without an outcome. */
export type ReleaseReason = "failed" | "not-kept" | "aborted";
/** Why an outcome could not be kept. */
export type NotKeptReason = "too-large" | "not-encodable" | "rejected";
/** The calls of a store that can fail on their own. */
export type StoreCall = "claim" | "complete" | "release" | "renew" | "saveStep" | "find" | "watch" | "sweep";

/** What a store, or a wrapper of one, tells by itself. */
export type StoreEvent =
  | { readonly type: "circuit"; readonly state: "open" | "half-open" | "closed"; readonly failures: number }
  /** Something about the server weakens the guarantees, such as an eviction policy. */
  | { readonly type: "store-warning"; readonly code: string; readonly message: string }
  | { readonly type: "swept"; readonly removed: number; readonly durationMs: number };

/** Every event. */
export type OncewardEvent = RunEvent | (StoreEvent & { readonly at: number });
/** Names of the events. */
export type EventName = OncewardEvent["type"];
/** The event of that name. */
export type EventOf<Name extends EventName> = Extract<OncewardEvent, { readonly type: Name }>;

/** Hands events to listeners; a listener that throws harms nobody. */
export class EventHub {
  readonly #listeners = new Map<EventName | "*", Set<(event: never) => void>>();
  /** False while nobody listens, so that the fast path builds no event. */
  listening = false;

  on<Name extends EventName>(name: Name | "*", listener: (event: EventOf<Name>) => void): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
    this.listening = true;
    return () => {
      listeners.delete(listener);
      this.listening = [...this.#listeners.values()].some((set) => set.size > 0);
    };
  }

  emit(event: OncewardEvent): void {
    this.#tell(event.type, event);
    this.#tell("*", event);
  }

  #tell(name: EventName | "*", event: OncewardEvent): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        const returned: unknown = (listener as (event: OncewardEvent) => unknown)(event);
        // An async listener's rejection must not become an unhandled one.
        if (returned instanceof Promise) returned.catch(() => {});
      } catch {
        // Watching must never change what is watched.
      }
    }
  }
}
