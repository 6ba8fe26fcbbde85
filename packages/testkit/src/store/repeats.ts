import { expect } from "vitest";
import { bytes, claimed, expectBytes, type Group, hourMs, request, unique } from "./context.ts";

/** S4: calls whose reply was lost are repeated. */
export const repeats: Group = (declare) => {
  declare("S4.1 a repeated claim is granted again, with the same fence and attempt", async ({ store, another }) => {
    const other = await another();
    const [id, token] = [unique(), unique()];
    const first = await claimed(store, id, request({ token }));
    for (const takeover of [true, false]) {
      const again = await claimed(other, id, request({ token, takeover }));
      expect(again).toMatchObject({ fence: first.fence, attempt: 1, takenOver: false });
    }
    expect(await store.claim(id, request())).toMatchObject({ state: "running", fence: first.fence });
  });

  declare("S4.2 100 concurrent claims with one token are one claim", async ({ store, another }) => {
    const stores = [store, await another()];
    const [id, token] = [unique(), unique()];
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, n) => claimed(stores[n % 2]!, id, request({ token }))),
    );
    expect(new Set(results.map(({ fence }) => fence)).size, "different fences").toBe(1);
    expect(new Set(results.map(({ attempt }) => attempt))).toEqual(new Set([1]));
  });

  declare("S4.3 a repeated claim starts the lease and the retention anew", async ({ store, shortMs, pass }) => {
    const [id, token] = [unique(), unique()];
    const short = { token, leaseMs: shortMs, retainMs: 2 * shortMs };
    await claimed(store, id, request(short));
    await claimed(store, id, request({ token }));
    await pass(3 * shortMs);
    const found = await store.find(id);
    expect(found?.state).toBe("running");
    expect(found?.leaseRemainingMs).toBeGreaterThan(hourMs / 2);
  });

  declare("S4.4 a repeated claim is granted also when its lease is over", async ({ store, shortMs, pass }) => {
    const [id, token] = [unique(), unique()];
    const first = await claimed(store, id, request({ token, leaseMs: shortMs }));
    await pass(shortMs);
    const again = await claimed(store, id, request({ token, takeover: false }));
    expect(again).toMatchObject({ fence: first.fence, attempt: 1, takenOver: false });
    expect((await store.find(id))?.state).toBe("running");
  });

  declare("S4.5 a repeated takeover is told again what it took over", async ({ store, shortMs, pass }) => {
    const [id, dead, token] = [unique(), unique(), unique()];
    await claimed(store, id, request({ token: dead, leaseMs: shortMs }));
    await store.saveStep(id, dead, "step", bytes("1"));
    await pass(shortMs);
    const first = await claimed(store, id, request({ token }));
    const again = await claimed(store, id, request({ token }));
    expect(again).toMatchObject({ fence: first.fence, attempt: 2, takenOver: true });
    expectBytes(again.steps?.get("step"), bytes("1"));
  });

  declare("S4.6 a claim repeated after its completion finds the outcome", async ({ store }) => {
    const [id, token] = [unique(), unique()];
    await claimed(store, id, request({ token }));
    await store.complete(id, token, bytes("done"), hourMs);
    const again = await store.claim(id, request({ token }));
    expect(again).toMatchObject({ state: "completed", fingerprint: "fingerprint" });
    expectBytes((again as { outcome: Uint8Array }).outcome, bytes("done"));
  });

  declare(
    "S4.7 a repeated complete is true and changes neither outcome nor expiry",
    async ({ store, another, pass, shortMs }) => {
      const other = await another();
      const [id, token] = [unique(), unique()];
      await claimed(store, id, request({ token }));
      expect(await store.complete(id, token, bytes("first"), hourMs)).toBe(true);
      const before = await store.find(id);
      await pass(shortMs);
      expect(await other.complete(id, token, bytes("first"), hourMs), "the same again").toBe(true);
      expect(await other.complete(id, token, bytes("second"), 5 * hourMs), "with other bytes").toBe(true);
      const after = await store.find(id);
      expectBytes(after?.outcome, bytes("first"));
      expect(after?.completedAt).toBe(before?.completedAt);
      expect(after?.expiresAt).toBe(before?.expiresAt);
    },
  );

  declare("S4.8 concurrent completes with one token keep one outcome", async ({ store, another }) => {
    const stores = [store, await another()];
    const [id, token] = [unique(), unique()];
    await claimed(store, id, request({ token }));
    const done = await Promise.all(
      Array.from({ length: 20 }, (_, n) => stores[n % 2]!.complete(id, token, bytes(`outcome ${n}`), hourMs)),
    );
    expect(done).toEqual(done.map(() => true));
    const [first, second] = [await store.find(id), await stores[1]!.find(id)];
    expectBytes(second?.outcome, first!.outcome!);
  });

  declare("S4.9 a repeated release is false, and the token may claim anew", async ({ store }) => {
    const [id, token] = [unique(), unique()];
    await claimed(store, id, request({ token }));
    expect(await store.release(id, token)).toBe(true);
    expect(await store.release(id, token)).toBe(false);
    expect(await claimed(store, id, request({ token }))).toMatchObject({ attempt: 1, takenOver: false });
    expect(await store.release(id, token)).toBe(true);
  });
};
