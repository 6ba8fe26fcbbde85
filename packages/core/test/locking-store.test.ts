import { describe, expect, it } from "vitest";
import { type CachingStore, type ClaimRequest, fromLockingStore, type LockingStore, onceward } from "../src/index.ts";

/** A weekend's plug-in: two Maps. Locks last until they are released or `expireLock`. */
function weekendStore() {
  const values = new Map<string, { value: object; expiresAt: number }>();
  const locks = new Map<string, string>();
  let made = 0;
  const simple: LockingStore = {
    async get(key) {
      const found = values.get(key);
      // As a real server would: text goes in and out.
      return found && found.expiresAt > Date.now() ? JSON.stringify(found.value) : null;
    },
    async set(key, _scope, value, ttlMs) {
      values.set(key, { value, expiresAt: Date.now() + ttlMs });
    },
    async acquireLock(key) {
      if (locks.has(key)) return null;
      const token = `lock-${++made}`;
      locks.set(key, token);
      return token;
    },
    async releaseLock(key, _scope, token) {
      if (locks.get(key) === token) locks.delete(key);
    },
  };
  return { simple, values, locks };
}

const request = (token: string, changes: Partial<ClaimRequest> = {}): ClaimRequest => ({
  token,
  fingerprint: "f",
  leaseMs: 60_000,
  retainMs: 60_000,
  takeover: true,
  ...changes,
});
const bytes = Uint8Array.of(0, 255, 10);

describe("fromLockingStore", () => {
  it("carries the engine: one run, replays, and release after a failure", async () => {
    const once = onceward({ store: fromLockingStore(weekendStore().simple), pollMs: 5 });
    let ran = 0;
    const call = (join: boolean) => once.run({ operation: "o", key: "k", join }, async () => ++ran);
    await expect(once.run({ operation: "o", key: "k" }, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    const results = await Promise.all([call(true), call(false), call(false)]);
    expect(results.map(({ value }) => value)).toEqual([1, 1, 1]);
    await expect(call(true)).resolves.toEqual({ value: 1, replayed: true });
    await once.close();
    await expect(once.find({ operation: "o", key: "k" })).rejects.toMatchObject({ code: "ERR_STORE_CLOSED" });
  });

  it("serves the other set of names, and its LockTimeoutError", async () => {
    const { simple } = weekendStore();
    const caching: CachingStore = {
      retrieve: (key) => simple.get(key, ""),
      store: (key, value, ttlMs) => simple.set(key, "", value, ttlMs),
      async acquireLock(key, { timeoutMs }) {
        const token = await simple.acquireLock(key, "", timeoutMs);
        if (!token) throw Object.assign(new Error("held"), { name: "LockTimeoutError" });
        return token;
      },
      releaseLock: (key, token) => simple.releaseLock(key, "", token),
    };
    const store = fromLockingStore(caching);
    await expect(store.claim("a", request("t"))).resolves.toMatchObject({ state: "claimed", attempt: 1 });
    await expect(store.claim("a", request("u"))).resolves.toMatchObject({ state: "running", fingerprint: "f" });
    await expect(store.complete("a", "t", bytes, 60_000)).resolves.toBe(true);
    await expect(store.claim("a", request("u"))).resolves.toMatchObject({ state: "completed", outcome: bytes });
  });

  it("lets other errors of the lock through", async () => {
    const { simple } = weekendStore();
    const store = fromLockingStore({ ...simple, acquireLock: () => Promise.reject(new Error("refused")) });
    await expect(store.claim("a", request("t"))).rejects.toThrow("refused");
  });

  it("finds its own claim and its own completion again, and refuses others' tokens", async () => {
    const store = fromLockingStore(weekendStore().simple);
    const first = await store.claim("a", request("t"));
    await expect(store.claim("a", request("t"))).resolves.toEqual(first);
    await expect(store.renew("a", "t", 90_000)).resolves.toBe(true);
    for (const call of [
      store.complete("a", "other", bytes, 1_000),
      store.release("a", "other"),
      store.renew("a", "other", 1_000),
      store.saveStep("a", "other", "s", bytes),
    ]) {
      await expect(call).resolves.toBe(false);
    }
    await store.complete("a", "t", bytes, 60_000);
    await expect(store.complete("a", "t", Uint8Array.of(9), 1)).resolves.toBe(true);
    await expect(store.find("a")).resolves.toMatchObject({ state: "completed", outcome: bytes, steps: [] });
    await expect(store.complete("a", "other", bytes, 1)).resolves.toBe(false);
  });

  it("takes over when the lock is free again: with takeover, an equal fingerprint, a higher fence and the steps", async () => {
    const { simple, locks } = weekendStore();
    const store = fromLockingStore(simple);
    const first = await store.claim("a", request("t", { label: "label", leaseMs: 1 }));
    await store.saveStep("a", "t", "one", Uint8Array.of(1));
    await store.saveStep("a", "t", "one", bytes);
    locks.clear();
    await expect(store.claim("a", request("u", { takeover: false }))).resolves.toMatchObject({
      state: "abandoned",
      attempt: 1,
    });
    await expect(store.claim("a", request("u", { fingerprint: "g" }))).resolves.toMatchObject({ state: "abandoned" });
    const second = await store.claim("a", request("u"));
    expect(second).toMatchObject({ state: "claimed", attempt: 2, takenOver: true, steps: new Map([["one", bytes]]) });
    expect(second.state === "claimed" && first.state === "claimed" && second.fence > first.fence).toBe(true);
    await expect(store.complete("a", "t", bytes, 1_000)).resolves.toBe(false);
  });

  it("keeps the steps of a released attempt for the same payload only", async () => {
    const store = fromLockingStore(weekendStore().simple);
    await store.claim("a", request("t"));
    await store.saveStep("a", "t", "one", bytes);
    await expect(store.release("a", "t")).resolves.toBe(true);
    await expect(store.find("a")).resolves.toBeNull();
    await expect(store.remove("a")).resolves.toBe(false);
    await expect(store.claim("a", request("u"))).resolves.toMatchObject({
      attempt: 2,
      takenOver: false,
      steps: new Map([["one", bytes]]),
    });
    await store.release("a", "u");
    await expect(store.claim("a", request("v", { fingerprint: "g" }))).resolves.toMatchObject({
      attempt: 1,
      steps: undefined,
    });
  });

  it("tells operators the state, and removes", async () => {
    const store = fromLockingStore(weekendStore().simple);
    await store.ping();
    await store.claim("a", request("t", { label: "label" }));
    await expect(store.find("a")).resolves.toMatchObject({ state: "running", label: "label" });
    await store.renew("a", "t", 1);
    await expect.poll(async () => (await store.find("a"))?.state).toBe("abandoned");
    await expect(store.remove("a")).resolves.toBe(true);
    await expect.poll(() => store.find("a")).toBeNull();
    await expect(store.claim("a", request("u"))).resolves.toMatchObject({ state: "claimed", attempt: 1 });
    await store.complete("a", "u", bytes, 60_000);
    await expect(store.remove("a")).resolves.toBe(true);
  });

  it("answers running, with nobody to blame, between another's lock and its record", async () => {
    const { simple, locks } = weekendStore();
    locks.set("a", "another");
    await expect(fromLockingStore(simple).claim("a", request("t"))).resolves.toMatchObject({
      state: "running",
      fingerprint: "f",
      fence: 0,
    });
  });

  it("takes objects for text, and does not trust the other side with the expiry", async () => {
    const { simple, values } = weekendStore();
    const store = fromLockingStore({ ...simple, get: async (key) => values.get(key)?.value });
    await store.claim("a", request("t"));
    await store.saveStep("a", "t", "one", bytes);
    await expect(store.find("a")).resolves.toMatchObject({ state: "running", steps: ["one"] });
    await store.complete("a", "t", bytes, 1);
    await expect.poll(() => store.find("a")).toBeNull();
  });

  it("refuses what it did not write", async () => {
    const { simple } = weekendStore();
    await simple.set("a", "", { hello: "world" }, 1_000);
    const store = fromLockingStore(simple);
    await expect(store.find("a")).rejects.toMatchObject({ code: "ERR_STORE_REJECTED" });
    const garbled = fromLockingStore({ ...simple, get: async () => "not JSON" });
    await expect(garbled.find("a")).rejects.toMatchObject({ code: "ERR_STORE_REJECTED" });
    const plain = fromLockingStore({ ...simple, get: async () => undefined });
    await expect(plain.find("a")).resolves.toBeNull();
  });
});
