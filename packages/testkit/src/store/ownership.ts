import type { Store } from "@onceward/core";
import { expect } from "vitest";
import { bytes, claimed, expectBytes, type Group, hourMs, request, unique } from "./context.ts";

/** Tries all four writes with a token that is not current, and expects that nothing changed. */
async function expectNoWrite(store: Store, id: string, token: string): Promise<void> {
  const before = await store.find(id);
  expect(await store.complete(id, token, bytes("stale"), 2 * hourMs), "complete").toBe(false);
  expect(await store.saveStep(id, token, "stale", bytes("stale")), "saveStep").toBe(false);
  expect(await store.renew(id, token, 2 * hourMs), "renew").toBe(false);
  expect(await store.release(id, token), "release").toBe(false);
  const after = await store.find(id);
  // The lease runs down between two reads, so that only what a write would change is compared.
  const facts = (record: typeof before) =>
    record && {
      ...record,
      expiresAt: 0,
      leaseRemainingMs: 0,
      outcome: record.outcome && Buffer.from(record.outcome).toString("hex"),
    };
  expect(facts(after), "the record after the refused writes").toEqual(facts(before));
  expect(after?.leaseRemainingMs ?? 0, "what is left of the lease").toBeLessThanOrEqual(before?.leaseRemainingMs ?? 0);
  expect(Math.abs((after?.expiresAt ?? 0) - (before?.expiresAt ?? 0)), "move of the expiry").toBeLessThan(60_000);
}

/** S3: who may write. */
export const ownership: Group = (declare) => {
  declare("S3.1 a running record is refused to others, and says whose it is", async ({ store }) => {
    const id = unique();
    const first = await claimed(store, id, request({ fingerprint: "first" }));
    for (const takeover of [true, false]) {
      for (const fingerprint of ["first", "other"]) {
        const result = await store.claim(id, request({ fingerprint, takeover }));
        expect(result).toMatchObject({ state: "running", fingerprint: "first", fence: first.fence });
        const { leaseRemainingMs } = result as { leaseRemainingMs: number };
        expect(leaseRemainingMs).toBeGreaterThan(0);
        expect(leaseRemainingMs).toBeLessThanOrEqual(hourMs);
      }
    }
  });

  declare("S3.2 a paused owner whom nobody replaced still completes", async ({ store, shortMs, pass }) => {
    const [id, token] = [unique(), unique()];
    await claimed(store, id, request({ token, leaseMs: shortMs }));
    await pass(shortMs);
    expect((await store.find(id))?.state).toBe("abandoned");
    expect(await store.complete(id, token, bytes("late"), hourMs)).toBe(true);
    const found = await store.find(id);
    expect(found?.state).toBe("completed");
    expectBytes(found?.outcome, bytes("late"));
  });

  declare("S3.3 a paused owner whom nobody replaced renews, records steps, releases", async (context) => {
    const { store, shortMs, pass } = context;
    const [id, token] = [unique(), unique()];
    await claimed(store, id, request({ token, leaseMs: shortMs }));
    await pass(shortMs);
    expect(await store.saveStep(id, token, "late", bytes("1"))).toBe(true);
    expect((await store.find(id))?.state, "a step does not renew the lease").toBe("abandoned");
    expect(await store.renew(id, token, hourMs)).toBe(true);
    expect(await store.find(id)).toMatchObject({ state: "running", steps: ["late"] });
    expect(await store.renew(id, token, shortMs)).toBe(true);
    await pass(shortMs);
    expect(await store.release(id, token)).toBe(true);
    expect(await store.find(id)).toBeNull();
  });

  declare("S3.4 an owner that was taken over changes nothing", async ({ store, another, shortMs, pass }) => {
    const other = await another();
    const [id, stale, current] = [unique(), unique(), unique()];
    await claimed(store, id, request({ token: stale, leaseMs: shortMs }));
    expect(await store.saveStep(id, stale, "kept", bytes("1"))).toBe(true);
    await pass(shortMs);
    await claimed(other, id, request({ token: current }));
    await expectNoWrite(store, id, stale);
    expect(await other.complete(id, current, bytes("done"), hourMs)).toBe(true);
    await expectNoWrite(store, id, stale);
  });

  declare("S3.5 an owner that was taken over and waits again is told who runs", async ({ store, shortMs, pass }) => {
    const [id, stale] = [unique(), unique()];
    await claimed(store, id, request({ token: stale, leaseMs: shortMs }));
    await pass(shortMs);
    const { fence } = await claimed(store, id, request());
    expect(await store.claim(id, request({ token: stale }))).toMatchObject({ state: "running", fence });
  });

  declare(
    "S3.6 after its release a token changes nothing, neither before nor after the next claim",
    async ({ store }) => {
      for (const steps of [[], ["kept"]]) {
        const [id, stale] = [unique(), unique()];
        await claimed(store, id, request({ token: stale }));
        for (const name of steps) await store.saveStep(id, stale, name, bytes("1"));
        expect(await store.release(id, stale)).toBe(true);
        await expectNoWrite(store, id, stale);
        expect(await store.find(id), "a released record").toBeNull();
        await claimed(store, id, request());
        await expectNoWrite(store, id, stale);
      }
    },
  );

  declare(
    "S3.7 after a removal a token changes nothing, neither before nor after the next claim",
    async ({ store }) => {
      const [id, stale] = [unique(), unique()];
      await claimed(store, id, request({ token: stale }));
      await store.saveStep(id, stale, "lost", bytes("1"));
      expect(await store.remove(id)).toBe(true);
      await expectNoWrite(store, id, stale);
      expect(await store.find(id)).toBeNull();
      expect(await claimed(store, id, request())).toMatchObject({ attempt: 1, takenOver: false });
      await expectNoWrite(store, id, stale);
      expect((await store.find(id))?.steps).toEqual([]);
    },
  );

  declare("S3.8 a token that never claimed changes nothing", async ({ store }) => {
    const absent = unique();
    await expectNoWrite(store, absent, unique());
    expect(await store.find(absent)).toBeNull();
    expect(await store.remove(absent)).toBe(false);
    const [running, token] = [unique(), unique().padEnd(128, "_")];
    await claimed(store, running, request({ token }));
    for (const other of [unique(), `${token.slice(0, -1)}-`, token.slice(0, -1), token.toLowerCase(), "*"]) {
      await expectNoWrite(store, running, other);
    }
  });

  declare("S3.9 a completed record takes no write, not even from its owner", async ({ store }) => {
    const [id, token] = [unique(), unique()];
    await claimed(store, id, request({ token }));
    expect(await store.complete(id, token, bytes("done"), hourMs)).toBe(true);
    await expectNoWrite(store, id, unique());
    expect(await store.saveStep(id, token, "late", bytes("1"))).toBe(false);
    expect(await store.renew(id, token, hourMs)).toBe(false);
    expect(await store.release(id, token)).toBe(false);
    const found = await store.find(id);
    expect(found).toMatchObject({ state: "completed", token, steps: [], leaseRemainingMs: 0 });
    expectBytes(found?.outcome, bytes("done"));
  });

  declare("S3.10 a renewal starts the lease anew, longer or shorter", async ({ store, shortMs, pass }) => {
    const [id, token] = [unique(), unique()];
    const first = await claimed(store, id, request({ token, leaseMs: shortMs }));
    expect(await store.renew(id, token, hourMs)).toBe(true);
    await pass(shortMs);
    const refused = await store.claim(id, request());
    expect(refused).toMatchObject({ state: "running", fence: first.fence });
    expect((refused as { leaseRemainingMs: number }).leaseRemainingMs).toBeGreaterThan(hourMs / 2);
    expect(await store.renew(id, token, shortMs)).toBe(true);
    await pass(shortMs);
    expect(await store.find(id)).toMatchObject({ state: "abandoned", fence: first.fence });
  });
};
