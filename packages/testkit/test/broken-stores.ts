import type { Store } from "@onceward/core";
import type { MemoryBackend, MemoryRecord, MemoryStore } from "@onceward/store-memory";
import type { StoreSuite } from "../src/index.ts";
import { switchable, unavailable } from "./switchable.ts";

/** What a mistake may use: the right store, and the records behind its back. */
export interface Parts {
  readonly right: MemoryStore;
  readonly records: Map<string, MemoryRecord>;
}

/** A mistake that a store's author could make. */
export interface Mistake {
  readonly name: string;
  /** The case that is there to catch it. */
  readonly caught: string;
  /** Further guarantees that fall with it, beside the one of `caught`. */
  readonly alsoBreaks?: readonly string[];
  readonly wrong?: (parts: Parts) => Partial<Store>;
  readonly suite?: (backend: MemoryBackend) => Partial<StoreSuite>;
  /** The backend's clock, given what the suite has added to it. */
  readonly clock?: (addedMs: number) => number;
}

/** Where the backend's clock starts. */
export const start = 1_700_000_000_000;

const gap = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const asText = (bytes: Uint8Array): Uint8Array => new TextEncoder().encode(new TextDecoder().decode(bytes));

/** Whoever asks is taken for the owner. */
async function ownerOf(right: Store, id: string, token: string): Promise<string> {
  return (await right.find(id))?.token ?? token;
}

export const mistakes: readonly Mistake[] = [
  {
    name: "check, then set",
    caught: "S1.1",
    alsoBreaks: ["S2", "S4"],
    wrong: ({ right, records }) => ({
      async claim(id, request) {
        const absent = !records.has(id);
        await gap();
        if (absent) await right.remove(id);
        return right.claim(id, request);
      },
    }),
  },
  {
    name: "a takeover decided by an earlier read",
    caught: "S5.4",
    alsoBreaks: ["S2"],
    wrong: ({ right, records }) => ({
      async claim(id, request) {
        const before = await right.find(id);
        await gap();
        const record = records.get(id);
        if (before?.state === "abandoned" && record && request.takeover) record.leaseEndsAt = 0;
        return right.claim(id, request);
      },
    }),
  },
  {
    name: "a step written back with an earlier read of all steps",
    caught: "S2.5",
    wrong: ({ right, records }) => ({
      async saveStep(id, token, name, result) {
        const before = new Map(records.get(id)?.steps);
        await gap();
        const saved = await right.saveStep(id, token, name, result);
        const record = records.get(id);
        if (saved && record) record.steps = before.set(name, new Uint8Array(result));
        return saved;
      },
    }),
  },
  {
    name: "one more round trip than needed",
    caught: "S2.6",
    suite: () => {
      let trips = 0;
      return { roundTrips: () => trips++ };
    },
  },
  {
    name: "a stale owner completes",
    caught: "S3.4",
    alsoBreaks: ["S2"],
    wrong: ({ right }) => ({
      complete: async (id, token, ...rest) => right.complete(id, await ownerOf(right, id, token), ...rest),
    }),
  },
  {
    name: "a non-owner releases",
    caught: "S3.8",
    wrong: ({ right }) => ({ release: async (id, token) => right.release(id, await ownerOf(right, id, token)) }),
  },
  {
    name: "a stale owner renews",
    caught: "S3.4",
    alsoBreaks: ["S2"],
    wrong: ({ right }) => ({
      renew: async (id, token, leaseMs) => right.renew(id, await ownerOf(right, id, token), leaseMs),
    }),
  },
  {
    name: "a stale owner records steps",
    caught: "S3.4",
    alsoBreaks: ["S2"],
    wrong: ({ right }) => ({
      saveStep: async (id, token, ...rest) => right.saveStep(id, await ownerOf(right, id, token), ...rest),
    }),
  },
  {
    name: "the end of the lease ends the token",
    caught: "S3.2",
    wrong: ({ right }) => ({
      complete: async (id, token, ...rest) =>
        (await right.find(id))?.state === "abandoned" ? false : right.complete(id, token, ...rest),
    }),
  },
  {
    name: "a repeated claim is taken for another's",
    caught: "S4.1",
    wrong: ({ right, records }) => ({
      async claim(id, request) {
        const record = records.get(id);
        if (record?.state !== "claimed" || record.token !== request.token) return right.claim(id, request);
        return right.claim(id, { ...request, token: `${request.token}-again` });
      },
    }),
  },
  {
    name: "a repeated complete moves the expiry",
    caught: "S4.7",
    alsoBreaks: ["S8"],
    wrong: ({ right, records }) => ({
      async complete(id, token, outcome, ttlMs) {
        const repeated = records.get(id)?.state === "completed";
        const done = await right.complete(id, token, outcome, ttlMs);
        if (repeated && done) records.get(id)!.expiresAt += ttlMs;
        return done;
      },
    }),
  },
  {
    name: "a repeated complete replaces the outcome",
    caught: "S4.7",
    wrong: ({ right, records }) => ({
      async complete(id, token, outcome, ttlMs) {
        const done = await right.complete(id, token, outcome, ttlMs);
        if (done) records.get(id)!.outcome = new Uint8Array(outcome);
        return done;
      },
    }),
  },
  {
    name: "a takeover whatever the fingerprint",
    caught: "S5.3",
    wrong: ({ right, records }) => ({
      async claim(id, request) {
        const record = records.get(id);
        const fingerprint = record?.state === "claimed" ? record.fingerprint : request.fingerprint;
        return right.claim(id, { ...request, fingerprint });
      },
    }),
  },
  {
    name: "a takeover that nobody allowed",
    caught: "S5.2",
    alsoBreaks: ["S8"],
    wrong: ({ right }) => ({ claim: (id, request) => right.claim(id, { ...request, takeover: true }) }),
  },
  {
    name: "steps lost by a release",
    caught: "S5.11",
    alsoBreaks: ["S8", "S9"],
    wrong: ({ right, records }) => ({
      async release(id, token) {
        const released = await right.release(id, token);
        if (records.get(id)?.state === "released") await right.remove(id);
        return released;
      },
    }),
  },
  {
    name: "a record forgotten with its lease",
    caught: "S5.6",
    alsoBreaks: ["S3", "S4", "S7", "S8"],
    wrong: ({ right }) => ({
      claim: (id, request) => right.claim(id, { ...request, retainMs: Math.min(request.leaseMs, request.retainMs) }),
    }),
  },
  {
    name: "a retention that renewals don't extend",
    caught: "S5.8",
    alsoBreaks: ["S8"],
    wrong: ({ right, records }) => ({
      async renew(id, token, leaseMs) {
        const expiresAt = records.get(id)?.expiresAt;
        const renewed = await right.renew(id, token, leaseMs);
        if (renewed) records.get(id)!.expiresAt = expiresAt!;
        return renewed;
      },
    }),
  },
  {
    name: "fences that start over",
    caught: "S6.1",
    // Whoever watches by a fence that comes back is not told.
    alsoBreaks: ["S10"],
    wrong: ({ right, records }) => ({
      async claim(id, request) {
        const former = records.get(id);
        const answer = right.claim(id, request);
        const record = records.get(id);
        if (record === undefined || record === former || record.takenOver) return answer;
        Object.assign(record, { fence: 1 });
        return { ...(await answer), fence: 1 };
      },
    }),
  },
  {
    name: "the application's clock",
    caught: "S7.1",
    // Only by how much it is wrong, so that time stands still unless the suite moves it.
    clock: (addedMs) =>
      start + addedMs + Math.round((Date.now() - performance.timeOrigin - performance.now()) / 1e6) * 1e6,
  },
  {
    name: "no expiry at complete",
    caught: "S8.3",
    alsoBreaks: ["S6", "S7"],
    wrong: ({ right, records }) => ({
      async complete(id, token, outcome, ttlMs) {
        const done = await right.complete(id, token, outcome, ttlMs);
        if (done) records.get(id)!.expiresAt = 2 * start;
        return done;
      },
    }),
  },
  {
    name: "an expiry that only the store knows of, not the backend",
    caught: "S8.9",
    suite: ({ records }) => ({ inspect: (id) => (records.has(id) ? { expiresInMs: null } : null) }),
  },
  {
    name: "expired rows that block",
    caught: "S8.3",
    alsoBreaks: ["S5", "S6"],
    wrong: ({ right, records }) => ({
      async claim(id, request) {
        const record = records.get(id);
        const expired = record !== undefined && record.state !== "released" && (await right.find(id)) === null;
        if (!expired) return right.claim(id, request);
        const { fingerprint, fence } = record;
        return { state: "running", fingerprint, fence, leaseRemainingMs: 1 };
      },
    }),
  },
  {
    name: "a sweep without limit",
    caught: "S8.7",
    wrong: ({ right }) => ({ sweep: () => right.sweep(Number.POSITIVE_INFINITY) }),
  },
  {
    name: "a sweep of what is merely abandoned",
    caught: "S8.8",
    wrong: ({ right }) => ({
      async sweep(limit) {
        for await (const { id } of right.list({ state: "abandoned" })) await right.remove(id);
        return right.sweep(limit);
      },
    }),
  },
  {
    name: "a list with outcomes, without limit",
    caught: "S8.12",
    wrong: ({ right }) => ({
      async *list(filter) {
        for await (const { id } of right.list({ state: filter?.state })) yield (await right.find(id))!;
      },
    }),
  },
  {
    name: "bodies as text",
    caught: "S9.1",
    wrong: ({ right }) => ({
      complete: (id, token, outcome, ttlMs) => right.complete(id, token, asText(outcome), ttlMs),
    }),
  },
  {
    name: "the caller's own buffer kept",
    caught: "S9.4",
    wrong: ({ right, records }) => ({
      async complete(id, token, outcome, ttlMs) {
        const first = records.get(id)?.state === "claimed";
        const done = await right.complete(id, token, outcome, ttlMs);
        if (first && done) records.get(id)!.outcome = outcome;
        return done;
      },
    }),
  },
  {
    name: "a watch that checks, then subscribes",
    caught: "S10.7",
    wrong: ({ right }) => ({
      async watch(id, seenFence, signal) {
        if ((await right.find(id))?.state !== "running") return right.watch(id, seenFence, signal);
        await gap();
        const missed = (await right.find(id))?.state !== "running";
        if (!missed) return right.watch(id, seenFence, signal);
        return new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      },
    }),
  },
  {
    name: "a watch that rejects when it is aborted",
    caught: "S10.8",
    wrong: ({ right }) => ({
      async watch(id, seenFence, signal) {
        await right.watch(id, seenFence, signal);
        signal.throwIfAborted();
      },
    }),
  },
  {
    name: "a watch that leaves its listener behind",
    caught: "S10.11",
    wrong: ({ right }) => ({
      watch(id, seenFence, signal) {
        signal.addEventListener("abort", () => {});
        return right.watch(id, seenFence, signal);
      },
    }),
  },
  {
    name: "a ping that is always well",
    caught: "S11.1",
    wrong: () => ({ ping: async () => {} }),
  },
  {
    name: "calls that hang without a server",
    caught: "S12.1",
    suite: (backend) => switchable(backend, () => new Promise(() => {})),
  },
  {
    name: "an outage that looks like any error",
    caught: "S12.1",
    suite: (backend) => switchable(backend, () => Promise.reject(new Error("ECONNREFUSED"))),
  },
  {
    name: "a late claim that nobody releases",
    caught: "S12.3",
    suite: (backend) =>
      switchable(backend, async (right, name, parameters) => {
        if (name === "claim") await right.claim(...(parameters as Parameters<Store["claim"]>));
        return unavailable();
      }),
  },
];
