import { InvalidOptionError, StoreUnavailableError } from "@onceward/core";
import { type Expiring, ExpiryQueue } from "./expiry-queue.ts";

/** Options of {@link memoryBackend}. */
export interface MemoryBackendOptions {
  /** How many records there may be at a time: a claim beyond is rejected, and no live record evicted. Default: 1,000,000. */
  readonly maxRecords?: number | undefined;
  /** The clock, in milliseconds since the epoch; it must not go back. Default: monotonic, so a jump of `Date` is harmless. */
  readonly now?: (() => number) | undefined;
}

/** A record as it is held. */
export interface MemoryRecord extends Expiring {
  readonly id: string;
  readonly fingerprint: string;
  readonly token: string;
  readonly fence: number;
  readonly attempt: number;
  readonly takenOver: boolean;
  readonly label: string | undefined;
  readonly claimedAt: number;
  state: "claimed" | "released" | "completed";
  leaseEndsAt: number;
  retainMs: number;
  steps: Map<string, Uint8Array> | undefined;
  completedAt: number | undefined;
  outcome: Uint8Array | undefined;
}

/** What the stores of one process share, as processes share a server. Made by {@link memoryBackend}. */
export interface MemoryBackend {
  /** What is held, expired or not: for raw reads in tests. */
  readonly records: ReadonlyMap<string, Readonly<MemoryRecord>>;
}

/** The records, the order in which they expire, and who waits for them. */
export class Backend implements MemoryBackend {
  readonly records = new Map<string, MemoryRecord>();
  readonly now: () => number;
  readonly #maxRecords: number;
  readonly #expiries = new ExpiryQueue<MemoryRecord>();
  readonly #watchers = new Map<string, Set<() => void>>();
  #fence: number;

  constructor({ now = monotonicNow, maxRecords = 1_000_000, ...unknown }: MemoryBackendOptions) {
    for (const name of Object.keys(unknown)) {
      throw new InvalidOptionError(`The memory store has no option "${name}"; it has maxRecords, now and backend.`);
    }
    if (typeof now !== "function") {
      throw new InvalidOptionError("The memory store's option now must be a function that returns milliseconds.");
    }
    if (!(typeof maxRecords === "number" && maxRecords >= 1)) {
      throw new InvalidOptionError("The memory store's option maxRecords must be a number from 1 on, or Infinity.");
    }
    this.now = now;
    this.#maxRecords = maxRecords;
    // Not from 0: what lies downstream and compares fences outlives this process.
    this.#fence = Math.floor(now() * 1000);
  }

  /** One counter for all ids, so that fences grow also for an id of which nothing is left. */
  nextFence(): number {
    this.#fence += 1;
    return this.#fence;
  }

  /** Puts the record in the place of whatever has its id. */
  put(record: MemoryRecord): void {
    const full = !this.records.has(record.id) && this.records.size >= this.#maxRecords;
    if (full && this.sweep(1) === 0) {
      throw new StoreUnavailableError(
        `The memory store is full: maxRecords is ${this.#maxRecords}, and no record has expired. ` +
          "Raise maxRecords, shorten ttlMs, or use a store with a server.",
      );
    }
    this.delete(record.id);
    this.records.set(record.id, record);
    this.#expiries.add(record);
  }

  expireAt(record: MemoryRecord, expiresAt: number): void {
    record.expiresAt = expiresAt;
    this.#expiries.moved(record);
  }

  delete(id: string): void {
    const record = this.records.get(id);
    if (record === undefined) return;
    this.records.delete(id);
    this.#expiries.delete(record);
    this.wake(id);
  }

  /** Costs as much as it deletes, however many records there are. */
  sweep(limit: number): number {
    const now = this.now();
    let swept = 0;
    for (let first = this.#expiries.first; first !== undefined && swept < limit; first = this.#expiries.first) {
      if (now < first.expiresAt) break;
      this.delete(first.id);
      swept++;
    }
    return swept;
  }

  /** Calls `wake` at changes of the record, until the returned function is called. */
  subscribe(id: string, wake: () => void): () => void {
    const watchers = this.#watchers.get(id) ?? new Set();
    this.#watchers.set(id, watchers.add(wake));
    return () => {
      watchers.delete(wake);
      if (watchers.size === 0) this.#watchers.delete(id);
    };
  }

  wake(id: string): void {
    // A copy, because those that wake leave the set.
    for (const wake of [...(this.#watchers.get(id) ?? [])]) wake();
  }
}

/** A backend for several stores of one process, each `memoryStore({ backend })`: simulates processes with one server. */
export function memoryBackend(options: MemoryBackendOptions = {}): MemoryBackend {
  return new Backend(options);
}

const monotonicNow = (): number => Math.floor(performance.timeOrigin + performance.now());
