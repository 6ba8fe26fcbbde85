import type { Store, StoredRecord } from "@onceward/core";
import { expect } from "vitest";
import { bytes, type CaseContext, claimed, type Group, hourMs, request, unique } from "./context.ts";
import { eventually } from "./waiting.ts";

async function completed(store: Store, id: string, ttlMs: number, retainMs = 10 * hourMs): Promise<string> {
  const token = unique();
  await claimed(store, id, request({ token, retainMs }));
  expect(await store.complete(id, token, bytes("done"), ttlMs)).toBe(true);
  return token;
}

/** S8: outcomes live for their TTL, and not a moment longer. */
export const expiry: Group = (declare, suite) => {
  declare("S8.1 the TTL starts at complete and replaces the retention", async ({ store, shortMs, pass }) => {
    const [id, token] = [unique(), unique()];
    await claimed(store, id, request({ token, retainMs: 10 * hourMs }));
    await pass(shortMs);
    expect(await store.complete(id, token, bytes("done"), hourMs)).toBe(true);
    const found = await store.find(id);
    expect(found!.completedAt).toBeGreaterThanOrEqual(found!.claimedAt + shortMs);
    expect(found!.expiresAt).toBe(found!.completedAt! + hourMs);
    const replay = await store.claim(id, request());
    expect(replay).toMatchObject({ completedAt: found!.completedAt, expiresAt: found!.expiresAt });
  });

  declare("S8.2 an outcome outlives retention and lease of its claim", async ({ store, shortMs, pass }) => {
    const [id, token] = [unique(), unique()];
    // In real time a short lease could be over, and the record forgotten, before it is completed.
    await claimed(store, id, request({ token, leaseMs: suite.clock ? shortMs : hourMs, retainMs: shortMs }));
    expect(await store.complete(id, token, bytes("done"), hourMs)).toBe(true);
    await pass(2 * shortMs);
    expect((await store.find(id))?.state).toBe("completed");
    expect((await store.claim(id, request())).state).toBe("completed");
  });

  declare("S8.3 an expired record is absent at once, swept or not", async ({ store, another, shortMs, pass }) => {
    const other = await another();
    const [id, removed] = [unique(), unique()];
    const token = await completed(store, id, shortMs);
    await completed(store, removed, shortMs);
    await pass(shortMs);
    expect(await other.find(id)).toBeNull();
    expect(await store.remove(removed)).toBe(false);
    expect(await store.complete(id, token, bytes("again"), hourMs), "its own token").toBe(false);
    const next = await claimed(other, id, request({ fingerprint: "other", takeover: false }));
    expect(next).toMatchObject({ attempt: 1, takenOver: false });
  });

  declare("S8.4 of many concurrent claims of an expired record exactly one is granted", async (context) => {
    const { store, another, shortMs, pass } = context;
    const stores = [store, await another()];
    const id = unique();
    await completed(store, id, shortMs);
    await pass(shortMs);
    const results = await Promise.all(Array.from({ length: 100 }, (_, n) => stores[n % 2]!.claim(id, request())));
    expect(results.filter(({ state }) => state === "claimed")).toHaveLength(1);
    expect(results.filter(({ state }) => state === "running")).toHaveLength(99);
  });

  declare("S8.5 TTLs of 1 ms and of ten years are kept", async ({ store, shortMs, pass }) => {
    const [brief, long] = [unique(), unique()];
    const tenYearsMs = 10 * 365 * 24 * hourMs;
    await completed(store, brief, 1);
    await completed(store, long, tenYearsMs);
    await pass(shortMs);
    expect(await store.find(brief)).toBeNull();
    const found = await store.find(long);
    expect(found!.expiresAt - found!.completedAt!).toBe(tenYearsMs);
  });

  declare("S8.6 claim, find and list agree at the boundary of lease and expiry", async (context) => {
    await (suite.clock ? exactBoundary(context) : observedBoundary(context));
  });

  declare("S8.7 expired records leave: swept, at most `limit` a time, or by themselves", async (context) => {
    await expectToLeave(context);
  });

  declare(
    "S8.8 a sweep touches no live record",
    async ({ store, shortMs, pass }) => {
      const [running, abandoned, done, released, token] = [unique(), unique(), unique(), unique(), unique()];
      await claimed(store, running, request());
      await claimed(store, abandoned, request({ leaseMs: shortMs }));
      await completed(store, done, hourMs);
      await claimed(store, released, request({ token }));
      await store.saveStep(released, token, "kept", bytes("1"));
      await store.release(released, token);
      await pass(shortMs);
      while ((await store.sweep(100)) === 100);
      expect((await store.find(running))?.state).toBe("running");
      expect((await store.find(abandoned))?.state).toBe("abandoned");
      expect((await store.find(done))?.state).toBe("completed");
      expect((await claimed(store, released, request())).steps?.size).toBe(1);
    },
    "sweep",
  );

  const { inspect } = suite;
  if (!inspect) return;
  declare("S8.9 the backend itself holds the right expiry", async ({ store }) => {
    const [id, token] = [unique(), unique()];
    const expiresInMs = async () => (await inspect(id))?.expiresInMs ?? Number.NaN;
    expect(await inspect(id), "an id that was never claimed").toBeNull();
    const expectNear = async (ms: number, when: string) => {
      const left = await expiresInMs();
      expect(left, `expiry ${when}`).toBeLessThanOrEqual(ms + 1_000);
      expect(left, `expiry ${when}`).toBeGreaterThan(ms - hourMs / 2);
    };
    await claimed(store, id, request({ token, leaseMs: hourMs, retainMs: 10 * hourMs }));
    await expectNear(10 * hourMs, "of a claim");
    await store.renew(id, token, 20 * hourMs);
    await expectNear(20 * hourMs, "of a lease longer than the retention");
    await store.saveStep(id, token, "step", bytes("1"));
    await expectNear(20 * hourMs, "after a step");
    await store.release(id, token);
    await expectNear(10 * hourMs, "of a release with steps");
    await claimed(store, id, request({ token }));
    await store.complete(id, token, bytes("done"), 2 * hourMs);
    await expectNear(2 * hourMs, "of an outcome");
    await store.complete(id, token, bytes("done"), 5 * hourMs);
    await expectNear(2 * hourMs, "of an outcome completed twice");
  });

  declare("S8.10 what was dropped is no longer stored", async ({ store }) => {
    const [id, token, secret] = [unique(), unique(), unique()];
    const holdsSecret = async () => Buffer.from((await inspect(id))?.bytes ?? []).includes(secret);
    await claimed(store, id, request({ token }));
    await store.saveStep(id, token, "step", bytes(secret));
    const visible = await holdsSecret();
    await store.complete(id, token, bytes("done"), hourMs);
    expect(visible && (await holdsSecret()), "steps after complete").toBe(false);
    await store.remove(id);
    expect(await inspect(id), "a removed record").toBeNull();
    const released = unique();
    await claimed(store, released, request({ token }));
    await store.release(released, token);
    expect(await inspect(released), "a record released without steps").toBeNull();
  });
};

async function listed(store: Store, id: string): Promise<StoredRecord | undefined> {
  for await (const record of store.list?.() ?? []) if (record.id === id) return record;
  return undefined;
}

/** With a clock that tests move: one millisecond before, and at the end. */
async function exactBoundary({ store, pass, shortMs }: CaseContext): Promise<void> {
  const [lapsing, expiring] = [unique(), unique()];
  await claimed(store, lapsing, request({ leaseMs: shortMs }));
  await completed(store, expiring, shortMs);
  await pass(shortMs - 1);
  expect(await store.claim(lapsing, request())).toMatchObject({ state: "running", leaseRemainingMs: 1 });
  expect(await store.find(lapsing)).toMatchObject({ state: "running", leaseRemainingMs: 1 });
  expect(await store.find(expiring)).toMatchObject({ state: "completed" });
  expect(await store.claim(expiring, request())).toMatchObject({ state: "completed" });
  await store.sweep?.(1_000_000);
  expect(await store.find(expiring)).toMatchObject({ state: "completed" });
  if (store.list) {
    expect((await listed(store, lapsing))?.state).toBe("running");
    expect((await listed(store, expiring))?.state).toBe("completed");
  }
  await pass(1);
  expect(await store.find(lapsing)).toMatchObject({ state: "abandoned", leaseRemainingMs: 0 });
  expect(await store.claim(lapsing, request({ takeover: false }))).toMatchObject({ state: "abandoned" });
  expect(await store.find(expiring)).toBeNull();
  if (store.list) {
    expect((await listed(store, lapsing))?.state).toBe("abandoned");
    expect(await listed(store, expiring)).toBeUndefined();
  }
  if (store.sweep) expect(await store.sweep(1_000_000), "the expired one is swept").toBeGreaterThanOrEqual(1);
  expect(await claimed(store, expiring, request())).toMatchObject({ attempt: 1 });
}

/** With real time: asks each method in turn across the boundary. Once one has seen the end, no other may deny it. */
async function observedBoundary({ store, shortMs, patienceMs }: CaseContext): Promise<void> {
  const [lapsing, expiring] = [unique(), unique()];
  await claimed(store, lapsing, request({ leaseMs: shortMs }));
  await completed(store, expiring, shortMs);
  let over = false;
  const ask = [
    async () => {
      const result = await store.claim(lapsing, request({ takeover: false }));
      if (result.state === "running") expect(result.leaseRemainingMs).toBeGreaterThan(0);
      return result.state;
    },
    async () => (await store.find(lapsing))?.state,
    async () => (store.list ? (await listed(store, lapsing))?.state : over ? "abandoned" : "running"),
  ];
  await eventually(
    "the lease ends",
    async () => {
      for (const state of ask) {
        const now = await state();
        expect(over ? ["abandoned"] : ["running", "abandoned"], "state of the record").toContain(now);
        over = now === "abandoned";
      }
      return over;
    },
    patienceMs,
  );
  await eventually("the outcome expires", async () => (await store.find(expiring)) === null, patienceMs);
  expect(await listed(store, expiring)).toBeUndefined();
  expect(await claimed(store, expiring, request())).toMatchObject({ attempt: 1 });
}

async function expectToLeave({ suite, store, shortMs, pass, patienceMs }: CaseContext): Promise<void> {
  const ids = Array.from({ length: 5 }, unique);
  for (const id of ids) await completed(store, id, shortMs);
  await pass(shortMs);
  if (store.sweep) {
    let total = 0;
    for (let swept = 2; swept === 2; total += swept) {
      swept = await store.sweep(2);
      expect(swept).toBeLessThanOrEqual(2);
    }
    expect(total, "records swept").toBeGreaterThanOrEqual(ids.length);
  }
  const { inspect } = suite;
  for (const id of ids) {
    expect(await store.find(id)).toBeNull();
    if (inspect) await eventually("an expired record leaves", async () => (await inspect(id)) === null, patienceMs);
  }
}
