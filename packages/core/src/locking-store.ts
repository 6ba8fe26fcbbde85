import { StoreClosedError, StoreRejectedError } from "./errors.ts";
import { fromBase64, toBase64 } from "./hash.ts";
import { checkOptions, durationMs } from "./options.ts";
import type { ClaimRequest, ClaimResult, Store, StoredRecord } from "./store.ts";

/** The simplest store there can be: values with an expiry, and locks. Values are plain JSON objects. */
export interface LockingStore {
  /** What `set` was given, or null when there is nothing or it has expired. */
  get(key: string, scope: string): Promise<unknown>;
  /** Replaces what is there; forgotten after `ttlMs`. */
  set(key: string, scope: string, value: object, ttlMs: number): Promise<unknown>;
  /** The lock's token; null, or a rejection named `LockTimeoutError`, when another holds it. */
  acquireLock(key: string, scope: string, timeoutMs: number): Promise<string | null | undefined>;
  /** Frees the lock if that token holds it. */
  releaseLock(key: string, scope: string, lockToken: string): Promise<unknown>;
}

/** The same under other names. */
export interface CachingStore {
  retrieve(key: string): Promise<unknown>;
  store(key: string, value: object, ttlMs: number): Promise<unknown>;
  /** Rejects with an error named `LockTimeoutError` when another holds it. */
  acquireLock(key: string, options: { timeoutMs: number }): Promise<string | null | undefined>;
  releaseLock(key: string, lockToken: string): Promise<unknown>;
}

/** Options of {@link fromLockingStore}. */
export interface LockingStoreOptions {
  /** How long `acquireLock` may wait before the lock counts as held by another. Default: 50 milliseconds. */
  readonly lockTimeoutMs?: number | undefined;
}

const scope = "onceward";

/** What is kept under a key. `released` keeps the steps of an attempt that failed, and else means absent. */
interface Entry {
  readonly state: "running" | "completed" | "released";
  readonly token: string;
  readonly lockToken: string;
  readonly fingerprint: string;
  readonly fence: number;
  readonly attempt: number;
  readonly takenOver: boolean;
  readonly label?: string | undefined;
  readonly claimedAt: number;
  readonly leaseEndsAt: number;
  readonly retainMs: number;
  readonly expiresAt: number;
  readonly steps: readonly (readonly [name: string, base64: string])[];
  readonly completedAt?: number;
  readonly outcome?: string;
}

/**
 * Makes a {@link Store} of get, set and a lock, so that a weekend plug-in can start there. Weaker than the contract:
 * every step but the lock is read-then-write, so a runner whose lock ran out beneath it can overwrite its successor;
 * a lease is as long as the lock lasts and can't be renewed; times are this process's. Good for one that must begin
 * somewhere; not for payments.
 */
export function fromLockingStore(simple: LockingStore | CachingStore, options: LockingStoreOptions = {}): Store {
  checkOptions("fromLockingStore", options, { lockTimeoutMs: durationMs });
  const { lockTimeoutMs = 50 } = options;
  const backend = "retrieve" in simple ? renamed(simple) : simple;
  let closed = false;

  async function read(id: string): Promise<Entry | null> {
    if (closed) throw new StoreClosedError("This store was closed");
    const found = await backend.get(id, scope);
    if (found === null || found === undefined) return null;
    const entry = (typeof found === "string" ? parse(found) : found) as Entry;
    if (!["running", "completed", "released"].includes(entry.state)) {
      throw new StoreRejectedError(`What is stored under ${id} was not written by Onceward; remove it`);
    }
    return entry.expiresAt > Date.now() ? entry : null;
  }

  async function write(id: string, entry: Entry): Promise<void> {
    await backend.set(id, scope, entry, Math.max(entry.expiresAt - Date.now(), 1));
  }

  async function lock(id: string): Promise<string | null> {
    try {
      return (await backend.acquireLock(id, scope, lockTimeoutMs)) ?? null;
    } catch (error) {
      if ((error as Error | undefined)?.name === "LockTimeoutError") return null;
      throw error;
    }
  }

  /** Changes the entry if `token` runs it. */
  async function change(id: string, token: string, to: (entry: Entry) => Entry): Promise<Entry | null> {
    const entry = await read(id);
    if (entry?.state !== "running" || entry.token !== token) return null;
    const changed = to(entry);
    await write(id, changed);
    return changed;
  }

  /** The lock is ours: the former runner, if there was one, has ended or lost it. */
  async function claimLocked(id: string, request: ClaimRequest, lockToken: string): Promise<ClaimResult> {
    const before = await read(id);
    const foreign = before?.state === "running" && (!request.takeover || before.fingerprint !== request.fingerprint);
    if (before?.state === "completed" || foreign) {
      await backend.releaseLock(id, scope, lockToken);
      return answer(before as Entry);
    }
    // Released without steps, or removed, is as good as never seen.
    const remembered = before?.state === "running" || (before?.steps.length ?? 0) > 0;
    const resumed = remembered && before?.fingerprint === request.fingerprint ? before : null;
    const now = Date.now();
    const entry: Entry = {
      state: "running",
      token: request.token,
      lockToken,
      fingerprint: request.fingerprint,
      fence: Math.max((before?.fence ?? 0) + 1, now * 1_000),
      attempt: (resumed?.attempt ?? 0) + 1,
      takenOver: before?.state === "running",
      label: request.label,
      claimedAt: now,
      leaseEndsAt: now + request.leaseMs,
      retainMs: request.retainMs,
      expiresAt: now + Math.max(request.retainMs, request.leaseMs),
      steps: resumed?.steps ?? [],
    };
    await write(id, entry);
    return claimed(entry);
  }

  return {
    async claim(id, request) {
      const before = await read(id);
      if (before?.state === "completed") return answer(before);
      if (before?.state === "running" && before.token === request.token) return claimed(before);
      const lockToken = await lock(id);
      if (lockToken !== null) return claimLocked(id, request, lockToken);
      const holder = await read(id);
      if (holder && holder.state !== "released") return answer(holder, true);
      // Locked a moment ago and not written yet: its payload is not known, so nobody may be blamed for another one.
      return { state: "running", fingerprint: request.fingerprint, fence: 0, leaseRemainingMs: lockTimeoutMs };
    },
    async complete(id, token, outcome, ttlMs) {
      const now = Date.now();
      const outcomeText = toBase64(outcome);
      const entry = await change(id, token, (running) => ({
        ...running,
        state: "completed",
        outcome: outcomeText,
        completedAt: now,
        expiresAt: now + ttlMs,
        steps: [],
      }));
      if (entry) {
        await backend.releaseLock(id, scope, entry.lockToken);
        return true;
      }
      const found = await read(id);
      return found?.state === "completed" && found.token === token;
    },
    async release(id, token) {
      const entry = await change(id, token, (running) => ({
        ...running,
        state: "released",
        expiresAt: Date.now() + (running.steps.length > 0 ? running.retainMs : 1),
      }));
      if (entry) await backend.releaseLock(id, scope, entry.lockToken);
      return entry !== null;
    },
    async renew(id, token, leaseMs) {
      const entry = await change(id, token, (running) => {
        const now = Date.now();
        return { ...running, leaseEndsAt: now + leaseMs, expiresAt: now + Math.max(running.retainMs, leaseMs) };
      });
      return entry !== null;
    },
    async saveStep(id, token, name, result) {
      const step = [name, toBase64(result)] as const;
      const entry = await change(id, token, (running) => ({
        ...running,
        steps: [...running.steps.filter(([known]) => known !== name), step],
      }));
      return entry !== null;
    },
    async find(id) {
      const entry = await read(id);
      return entry && entry.state !== "released" ? recordOf(id, entry) : null;
    },
    async remove(id) {
      const entry = await read(id);
      if (!entry || entry.state === "released") return false;
      await write(id, { ...entry, state: "released", steps: [], expiresAt: Date.now() + 1 });
      if (entry.state === "running") await backend.releaseLock(id, scope, entry.lockToken);
      return true;
    },
    async ping() {
      await read("ping");
    },
    async close() {
      closed = true;
    },
  };
}

function renamed(simple: CachingStore): LockingStore {
  return {
    get: (key) => simple.retrieve(key),
    set: (key, _scope, value, ttlMs) => simple.store(key, value, ttlMs),
    acquireLock: (key, _scope, timeoutMs) => simple.acquireLock(key, { timeoutMs }),
    releaseLock: (key, _scope, lockToken) => simple.releaseLock(key, lockToken),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function claimed({ fence, attempt, takenOver, steps }: Entry): ClaimResult {
  const restored = new Map(steps.map(([name, result]) => [name, fromBase64(result)]));
  return { state: "claimed", fence, attempt, takenOver, steps: restored.size > 0 ? restored : undefined };
}

function answer(entry: Entry, locked = false): ClaimResult {
  const { fingerprint, fence, attempt } = entry;
  if (entry.state === "completed") {
    const { outcome = "", completedAt = 0, expiresAt } = entry;
    return { state: "completed", fingerprint, outcome: fromBase64(outcome), completedAt, expiresAt };
  }
  // Whoever holds the lock counts as alive, whatever the clock says.
  if (!locked) return { state: "abandoned", fingerprint, fence, attempt };
  return { state: "running", fingerprint, fence, leaseRemainingMs: Math.max(entry.leaseEndsAt - Date.now(), 1) };
}

function recordOf(id: string, entry: Entry): StoredRecord {
  const { token, fingerprint, fence, attempt, label, claimedAt, expiresAt, completedAt, outcome } = entry;
  const leaseRemainingMs = entry.state === "running" ? Math.max(entry.leaseEndsAt - Date.now(), 0) : 0;
  const state = entry.state === "completed" ? "completed" : leaseRemainingMs > 0 ? "running" : "abandoned";
  const steps = entry.steps.map(([name]) => name);
  const record = {
    id,
    state,
    token,
    fingerprint,
    fence,
    attempt,
    label,
    claimedAt,
    leaseRemainingMs,
    expiresAt,
    steps,
  } as const;
  return outcome === undefined ? record : { ...record, completedAt, outcome: fromBase64(outcome) };
}
