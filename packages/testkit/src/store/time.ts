import { expect } from "vitest";
import { bytes, claimed, type Group, hourMs, request, unique } from "./context.ts";

const shiftsMs = [6 * hourMs, -6 * hourMs];

/** Runs with the application's `Date` shifted, as on a machine whose clock is wrong. */
async function withDateShifted<Value>(shiftMs: number, run: () => Promise<Value>): Promise<Value> {
  const RealDate = globalThis.Date;
  globalThis.Date = class extends RealDate {
    constructor(...values: [] | [number]) {
      super(...((values.length === 0 ? [RealDate.now() + shiftMs] : values) as [number]));
    }
    static override now(): number {
      return RealDate.now() + shiftMs;
    }
  } as DateConstructor;
  try {
    return await run();
  } finally {
    globalThis.Date = RealDate;
  }
}

/** S7: time is the store's. */
export const time: Group = (declare, suite) => {
  if (suite.sharesDate) return;

  declare("S7.1 a wrong clock of the application doesn't end a lease", async ({ store, another }) => {
    const other = await another();
    const id = unique();
    const { fence } = await claimed(store, id, request());
    for (const shiftMs of shiftsMs) {
      const refused = await withDateShifted(shiftMs, () => other.claim(id, request()));
      expect(refused).toMatchObject({ state: "running", fence });
      expect((refused as { leaseRemainingMs: number }).leaseRemainingMs).toBeLessThanOrEqual(hourMs);
    }
  });

  declare("S7.2 a lease claimed or renewed under a wrong clock has its length", async ({ store }) => {
    for (const shiftMs of shiftsMs) {
      const [id, token] = [unique(), unique()];
      await withDateShifted(shiftMs, () => claimed(store, id, request({ token })));
      const check = async () => {
        const refused = await store.claim(id, request());
        expect(refused.state).toBe("running");
        expect((refused as { leaseRemainingMs: number }).leaseRemainingMs).toBeLessThanOrEqual(hourMs);
        expect((refused as { leaseRemainingMs: number }).leaseRemainingMs).toBeGreaterThan(hourMs / 2);
      };
      await check();
      await withDateShifted(shiftMs, () => store.renew(id, token, hourMs));
      await check();
    }
  });

  declare("S7.3 a wrong clock of the application doesn't end an outcome", async ({ store }) => {
    const [id, token] = [unique(), unique()];
    await claimed(store, id, request({ token }));
    await store.complete(id, token, bytes("done"), hourMs);
    for (const shiftMs of shiftsMs) {
      expect((await withDateShifted(shiftMs, () => store.find(id)))?.state).toBe("completed");
      expect((await withDateShifted(shiftMs, () => store.claim(id, request()))).state).toBe("completed");
    }
  });

  declare("S7.4 an outcome completed under a wrong clock is dated by the store", async ({ store }) => {
    const dated = async (shiftMs: number) => {
      const [id, token] = [unique(), unique()];
      await withDateShifted(shiftMs, async () => {
        await claimed(store, id, request({ token }));
        await store.complete(id, token, bytes("done"), hourMs);
      });
      return (await store.find(id))!;
    };
    const right = await dated(0);
    for (const shiftMs of shiftsMs) {
      const record = await dated(shiftMs);
      expect(record.state).toBe("completed");
      for (const field of ["claimedAt", "completedAt", "expiresAt"] as const) {
        expect(Math.abs(record[field]! - right[field]!), `${field} is off by`).toBeLessThan(hourMs);
      }
    }
  });

  declare("S7.5 leases and outcomes end in their time under a wrong clock", async ({ store, shortMs, pass }) => {
    for (const shiftMs of shiftsMs) {
      await withDateShifted(shiftMs, async () => {
        const [lapsed, expired, token] = [unique(), unique(), unique()];
        await claimed(store, lapsed, request({ leaseMs: shortMs }));
        await claimed(store, expired, request({ token }));
        await store.complete(expired, token, bytes("done"), shortMs);
        await pass(shortMs);
        expect((await store.find(lapsed))?.state).toBe("abandoned");
        expect(await store.find(expired)).toBeNull();
        expect((await claimed(store, lapsed, request())).takenOver).toBe(true);
      });
    }
  });
};
