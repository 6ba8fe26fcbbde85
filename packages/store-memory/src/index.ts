import { InvalidOptionError, type Store, StoreClosedError, type StoredRecord } from "@onceward/core";
import { Backend, type MemoryBackend, type MemoryBackendOptions, type MemoryRecord, memoryBackend } from "./backend.ts";

export { type MemoryBackend, type MemoryBackendOptions, type MemoryRecord, memoryBackend };

/** Options of {@link memoryStore}. */
export interface MemoryStoreOptions extends MemoryBackendOptions {
  /** Records to share with other stores; without it, the store has its own. Excludes the other options: it has them. */
  readonly backend?: MemoryBackend | undefined;
}

/** What every memory store has, the optional capabilities among it. */
export type MemoryStore = Store & Required<Pick<Store, "list" | "watch" | "sweep">>;

/**
 * Records in this process's memory: for development, tests, and services of one instance. A restart forgets them.
 * It keeps no timer: an expired record is absent at once, and `sweep`, which the engine calls, frees its memory.
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  const backend = backendOf(options);
  const watching = new Set<() => void>();
  let closed = false;

  // No method awaits anything between reading a record and writing it: that makes each an atomic step.
  function open(): number {
    if (closed) throw new StoreClosedError("This memory store was closed. Close it after its last use.");
    return backend.now();
  }
  function live(id: string, now: number): MemoryRecord | undefined {
    const record = backend.records.get(id);
    return record !== undefined && now < record.expiresAt ? record : undefined;
  }
  /** The record if `token` may write to it: a lease that is over doesn't matter. */
  function owned(id: string, token: string, now: number): MemoryRecord | undefined {
    const record = live(id, now);
    return record?.state === "claimed" && record.token === token ? record : undefined;
  }
  function startLease(record: MemoryRecord, leaseMs: number, now: number): void {
    record.leaseEndsAt = now + leaseMs;
    backend.expireAt(record, now + Math.max(record.retainMs, leaseMs));
  }

  return {
    async claim(id, { token, fingerprint, leaseMs, retainMs, takeover, label }) {
      const now = open();
      const former = live(id, now);
      if (former?.state === "completed") {
        const { outcome, completedAt, expiresAt } = former;
        return {
          state: "completed",
          fingerprint: former.fingerprint,
          outcome: copy(outcome!),
          completedAt: completedAt!,
          expiresAt,
        };
      }
      if (former?.state === "claimed" && former.token === token) {
        former.retainMs = retainMs;
        startLease(former, leaseMs, now);
        return claimed(former);
      }
      const equal = former?.fingerprint === fingerprint;
      if (former?.state === "claimed") {
        const { fence, attempt } = former;
        const leaseRemainingMs = former.leaseEndsAt - now;
        if (leaseRemainingMs > 0) return { state: "running", fingerprint: former.fingerprint, fence, leaseRemainingMs };
        if (!takeover || !equal) return { state: "abandoned", fingerprint: former.fingerprint, fence, attempt };
      }
      // All fields at once, not spread: such objects take half the memory.
      const record: MemoryRecord = {
        id,
        fingerprint,
        token,
        fence: backend.nextFence(),
        attempt: equal ? former.attempt + 1 : 1,
        takenOver: former?.state === "claimed",
        label,
        claimedAt: now,
        state: "claimed",
        leaseEndsAt: now + leaseMs,
        retainMs,
        steps: equal ? former.steps : undefined,
        completedAt: undefined,
        outcome: undefined,
        expiresAt: now + Math.max(retainMs, leaseMs),
        place: 0,
      };
      backend.put(record);
      return claimed(record);
    },

    async complete(id, token, outcome, ttlMs) {
      const now = open();
      const record = owned(id, token, now);
      if (record === undefined) {
        const former = live(id, now);
        return former?.state === "completed" && former.token === token;
      }
      record.state = "completed";
      record.outcome = copy(outcome);
      record.completedAt = now;
      record.steps = undefined;
      backend.expireAt(record, now + ttlMs);
      backend.wake(id);
      return true;
    },

    async release(id, token) {
      const now = open();
      const record = owned(id, token, now);
      if (record === undefined) return false;
      if (record.steps === undefined) {
        backend.delete(id);
      } else {
        record.state = "released";
        backend.expireAt(record, now + record.retainMs);
        backend.wake(id);
      }
      return true;
    },

    async renew(id, token, leaseMs) {
      const now = open();
      const record = owned(id, token, now);
      if (record !== undefined) startLease(record, leaseMs, now);
      return record !== undefined;
    },

    async saveStep(id, token, name, result) {
      const record = owned(id, token, open());
      if (record === undefined) return false;
      record.steps ??= new Map();
      record.steps.set(name, copy(result));
      return true;
    },

    async find(id) {
      const now = open();
      const record = live(id, now);
      if (record === undefined || record.state === "released") return null;
      return { ...described(record, now), outcome: record.outcome && copy(record.outcome) };
    },

    async remove(id) {
      const record = live(id, open());
      backend.delete(id);
      return record !== undefined && record.state !== "released";
    },

    async *list({ state, limit = Number.POSITIVE_INFINITY } = {}) {
      open();
      let left = limit;
      for (const record of backend.records.values()) {
        if (left <= 0) return;
        const now = open();
        if (record.state === "released" || now >= record.expiresAt) continue;
        const description = described(record, now);
        if (state !== undefined && description.state !== state) continue;
        left--;
        yield description;
      }
    },

    watch: (id, seenFence, signal) =>
      new Promise((resolve) => {
        const record = live(id, open());
        if (signal.aborted || record?.state !== "claimed" || record.fence !== seenFence) return resolve();
        const done = () => {
          unsubscribe();
          watching.delete(done);
          signal.removeEventListener("abort", done);
          resolve();
        };
        const unsubscribe = backend.subscribe(id, done);
        watching.add(done);
        signal.addEventListener("abort", done);
      }),

    async sweep(limit) {
      open();
      return backend.sweep(limit);
    },

    async ping() {
      open();
    },

    async close() {
      closed = true;
      for (const done of [...watching]) done();
    },
  };
}

function backendOf({ backend, ...own }: MemoryStoreOptions): Backend {
  if (backend === undefined) return new Backend(own);
  if (!(backend instanceof Backend)) throw new InvalidOptionError("backend must come from memoryBackend().");
  for (const [name, value] of Object.entries(own)) {
    if (value === undefined) continue;
    throw new InvalidOptionError(`${name} can't be combined with backend: give it to memoryBackend() instead.`);
  }
  return backend;
}

/** Bytes are copied on their way in and out: a caller may reuse its buffer, and change what it was handed. */
const copy = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes);

function claimed({ fence, attempt, takenOver, steps }: MemoryRecord) {
  const copies = steps && new Map([...steps].map(([name, result]) => [name, copy(result)]));
  return { state: "claimed", fence, attempt, takenOver, steps: copies } as const;
}

function described(record: MemoryRecord, now: number): StoredRecord {
  const { id, fingerprint, token, fence, attempt, label, claimedAt, completedAt, expiresAt, state } = record;
  const leaseRemainingMs = state === "claimed" ? Math.max(0, record.leaseEndsAt - now) : 0;
  return {
    ...{ id, fingerprint, token, fence, attempt, label, claimedAt, completedAt, expiresAt, leaseRemainingMs },
    state: state === "completed" ? "completed" : leaseRemainingMs > 0 ? "running" : "abandoned",
    steps: [...(record.steps?.keys() ?? [])],
  };
}
