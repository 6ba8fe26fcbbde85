import { expect } from "vitest";
import { bytes, claimed, expectBytes, type Group, hourMs, request, unique } from "./context.ts";

/** S5: what is left of a runner that died or gave up. */
export const takeover: Group = (declare) => {
  declare(
    "S5.1 a lease that is over is taken over, with a higher fence and attempt",
    async ({ store, shortMs, pass }) => {
      const id = unique();
      let former = await claimed(store, id, request({ leaseMs: shortMs }));
      for (const attempt of [2, 3]) {
        await pass(shortMs);
        const next = await claimed(store, id, request({ leaseMs: shortMs }));
        expect(next).toMatchObject({ attempt, takenOver: true });
        expect(next.fence).toBeGreaterThan(former.fence);
        former = next;
      }
      expect(await store.find(id)).toMatchObject({ fence: former.fence, attempt: 3 });
    },
  );

  declare("S5.2 without takeover, a lease that is over is abandoned", async ({ store, shortMs, pass }) => {
    const [id, token] = [unique(), unique()];
    const { fence } = await claimed(store, id, request({ token, leaseMs: shortMs }));
    await pass(shortMs);
    const refused = await store.claim(id, request({ takeover: false }));
    expect(refused).toMatchObject({ state: "abandoned", fingerprint: "fingerprint", fence, attempt: 1 });
    expect(await store.find(id)).toMatchObject({ state: "abandoned", token, fence, leaseRemainingMs: 0 });
  });

  declare("S5.3 with another fingerprint, a lease that is over is abandoned", async ({ store, shortMs, pass }) => {
    const [id, token] = [unique(), unique()];
    const { fence } = await claimed(store, id, request({ token, fingerprint: "first", leaseMs: shortMs }));
    await pass(shortMs);
    const refused = await store.claim(id, request({ fingerprint: "other" }));
    expect(refused).toMatchObject({ state: "abandoned", fingerprint: "first", fence, attempt: 1 });
    expect(await store.find(id)).toMatchObject({ token, fingerprint: "first", fence });
  });

  declare("S5.4 of 100 concurrent takeovers exactly one is granted", async ({ store, another, shortMs, pass }) => {
    const stores = [store, await another(), await another()];
    const id = unique();
    await claimed(store, id, request({ leaseMs: shortMs }));
    await pass(shortMs);
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, n) => stores[n % stores.length]!.claim(id, request())),
    );
    const winners = results.filter(({ state }) => state === "claimed");
    expect(winners).toHaveLength(1);
    expect(winners[0]).toMatchObject({ attempt: 2, takenOver: true });
    expect(results.filter(({ state }) => state === "running")).toHaveLength(99);
  });

  declare("S5.5 a takeover is handed the steps, and may go on with them", async ({ store, shortMs, pass }) => {
    const [id, first, second] = [unique(), unique(), unique()];
    await claimed(store, id, request({ token: first, leaseMs: shortMs }));
    await store.saveStep(id, first, "a", bytes("1"));
    await store.saveStep(id, first, "b", bytes("2"));
    await store.saveStep(id, first, "a", bytes("replaced"));
    await pass(shortMs);
    const next = await claimed(store, id, request({ token: second, leaseMs: shortMs }));
    expect([...(next.steps?.keys() ?? [])].sort()).toEqual(["a", "b"]);
    expectBytes(next.steps?.get("a"), bytes("replaced"));
    expect(await store.saveStep(id, second, "c", bytes("3"))).toBe(true);
    await pass(shortMs);
    const last = await claimed(store, id, request());
    expect([...(last.steps?.keys() ?? [])].sort()).toEqual(["a", "b", "c"]);
    expectBytes(last.steps?.get("b"), bytes("2"));
    expect(last.attempt).toBe(3);
  });

  declare(
    "S5.6 an unfinished record is remembered for retainMs, not for its lease",
    async ({ store, shortMs, pass }) => {
      const id = unique();
      await claimed(store, id, request({ leaseMs: shortMs, retainMs: hourMs }));
      await pass(5 * shortMs);
      expect((await store.find(id))?.state).toBe("abandoned");
    },
  );

  declare("S5.7 an unfinished record is forgotten after retainMs, steps and all", async ({ store, shortMs, pass }) => {
    const [id, token] = [unique(), unique()];
    await claimed(store, id, request({ token, leaseMs: shortMs, retainMs: 2 * shortMs }));
    await store.saveStep(id, token, "forgotten", bytes("1"));
    await pass(2 * shortMs);
    expect(await store.find(id)).toBeNull();
    expect(await store.complete(id, token, bytes("too late"), hourMs)).toBe(false);
    expect(await store.renew(id, token, hourMs)).toBe(false);
    expect(await store.saveStep(id, token, "late", bytes("1"))).toBe(false);
    expect(await store.release(id, token)).toBe(false);
    const next = await claimed(store, id, request({ takeover: false }));
    expect(next).toMatchObject({ attempt: 1, takenOver: false });
    expect(next.steps?.size ?? 0).toBe(0);
  });

  declare("S5.8 a renewal extends the retention", async ({ store, shortMs, pass }) => {
    const [id, token] = [unique(), unique()];
    await claimed(store, id, request({ token, leaseMs: shortMs, retainMs: hourMs }));
    const before = await store.find(id);
    await pass(shortMs);
    expect(await store.renew(id, token, shortMs)).toBe(true);
    const after = await store.find(id);
    expect(after!.expiresAt).toBeGreaterThan(before!.expiresAt);
    expect(after!.expiresAt - before!.expiresAt).toBeLessThan(hourMs / 2);
  });

  declare("S5.9 an unfinished record is never forgotten before its lease ends", async ({ store, shortMs, pass }) => {
    const [claim, renewed, token] = [unique(), unique(), unique()];
    await claimed(store, claim, request({ retainMs: 1 }));
    await claimed(store, renewed, request({ token, leaseMs: hourMs, retainMs: 1 }));
    expect(await store.renew(renewed, token, 2 * hourMs)).toBe(true);
    await pass(shortMs);
    expect((await store.find(claim))?.state).toBe("running");
    expect((await store.find(renewed))?.state).toBe("running");
    expect(await store.claim(claim, request())).toMatchObject({ state: "running" });
  });

  declare("S5.10 a release without steps leaves nothing", async ({ store, another }) => {
    const other = await another();
    const [id, token] = [unique(), unique()];
    await claimed(store, id, request({ token, fingerprint: "first" }));
    expect(await store.release(id, token)).toBe(true);
    expect(await other.find(id)).toBeNull();
    const next = await claimed(other, id, request({ fingerprint: "other", takeover: false }));
    expect(next).toMatchObject({ attempt: 1, takenOver: false });
  });

  declare("S5.11 a release keeps the steps for the next claim, which needs no takeover", async ({ store, another }) => {
    const other = await another();
    const [id, token, second] = [unique(), unique(), unique()];
    await claimed(store, id, request({ token }));
    await store.saveStep(id, token, "kept", bytes("1"));
    expect(await store.release(id, token)).toBe(true);
    expect(await store.find(id), "a released record is absent").toBeNull();
    expect(await store.remove("no-such-id")).toBe(false);
    const next = await claimed(other, id, request({ token: second, takeover: false }));
    expect(next).toMatchObject({ attempt: 2, takenOver: false });
    expectBytes(next.steps?.get("kept"), bytes("1"));
    expect((await store.find(id))?.steps).toEqual(["kept"]);
    expect(await store.release(id, second)).toBe(true);
    expect((await claimed(store, id, request())).attempt).toBe(3);
  });

  declare("S5.12 kept steps are dropped for a claim with another fingerprint", async ({ store }) => {
    const [id, token, other] = [unique(), unique(), unique()];
    await claimed(store, id, request({ token, fingerprint: "first" }));
    await store.saveStep(id, token, "dropped", bytes("1"));
    await store.release(id, token);
    const afresh = await claimed(store, id, request({ token: other, fingerprint: "other" }));
    expect(afresh).toMatchObject({ attempt: 1, takenOver: false });
    expect(afresh.steps?.size ?? 0).toBe(0);
    expect((await store.find(id))?.steps).toEqual([]);
    await store.release(id, other);
    const next = await claimed(store, id, request({ fingerprint: "first" }));
    expect(next.attempt).toBe(1);
    expect(next.steps?.size ?? 0).toBe(0);
  });

  declare(
    "S5.13 kept steps are forgotten after retainMs, counted from the release",
    async ({ store, shortMs, pass }) => {
      const [soon, later, token] = [unique(), unique(), unique()];
      for (const [id, retainMs] of [
        [soon, 2 * shortMs],
        [later, hourMs],
      ] as const) {
        await claimed(store, id, request({ token, leaseMs: hourMs, retainMs }));
        await store.saveStep(id, token, "step", bytes("1"));
        expect(await store.release(id, token)).toBe(true);
      }
      await pass(2 * shortMs);
      const forgotten = await claimed(store, soon, request());
      expect(forgotten.attempt).toBe(1);
      expect(forgotten.steps?.size ?? 0).toBe(0);
      expect((await claimed(store, later, request())).attempt).toBe(2);
    },
  );

  declare("S5.14 a removal deletes kept steps too", async ({ store }) => {
    const [id, token] = [unique(), unique()];
    await claimed(store, id, request({ token }));
    await store.saveStep(id, token, "step", bytes("1"));
    await store.release(id, token);
    expect(await store.remove(id), "there was no record to find").toBe(false);
    const next = await claimed(store, id, request());
    expect(next.attempt).toBe(1);
    expect(next.steps?.size ?? 0).toBe(0);
  });
};
