import type { Store } from "@onceward/core";
import { expect } from "vitest";
import { bytes, type CaseContext, claimed, type Group, hourMs, request, unique } from "./context.ts";

type Ending = (context: CaseContext, store: Store, id: string, token: string) => Promise<unknown>;

/** How a claim can come to its end. Each leaves the id claimable. */
const endings: Readonly<Record<string, Ending>> = {
  "a release": (_, store, id, token) => store.release(id, token),
  "a release with steps": async (_, store, id, token) => {
    await store.saveStep(id, token, "step", bytes("1"));
    await store.release(id, token);
  },
  "a removal": (_, store, id) => store.remove(id),
  "the removal of an outcome": async (_, store, id, token) => {
    await store.complete(id, token, bytes("done"), hourMs);
    await store.remove(id);
  },
  "the expiry of an outcome": async ({ pass, shortMs }, store, id, token) => {
    await store.complete(id, token, bytes("done"), shortMs);
    await pass(shortMs);
  },
  "a takeover": async ({ pass, shortMs }, store, id, token) => {
    await store.renew(id, token, shortMs);
    await pass(shortMs);
  },
};

/** S6: fences only grow. */
export const fences: Group = (declare) => {
  for (const [number, [ending, end]] of Object.entries(endings).entries()) {
    declare(`S6.${number + 1} fences grow after ${ending}, on all instances`, async (context) => {
      const stores = [context.store, await context.another()];
      const id = unique();
      let last = Number.NEGATIVE_INFINITY;
      for (const n of [0, 1, 2, 3]) {
        const store = stores[n % 2]!;
        const token = unique();
        const { fence } = await claimed(store, id, request({ token }));
        expect(fence, `fence of claim ${n + 1}`).toBeGreaterThan(last);
        expect((await store.find(id))?.fence).toBe(fence);
        last = fence;
        await end(context, store, id, token);
      }
    });
  }

  declare("S6.7 fences grow through a hundred claims in a row", async ({ store }) => {
    const id = unique();
    const seen: number[] = [];
    for (let n = 0; n < 100; n++) {
      const token = unique();
      seen.push((await claimed(store, id, request({ token }))).fence);
      if (n % 2 === 0) await store.release(id, token);
      else await store.remove(id);
    }
    expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
    expect(seen.every(Number.isSafeInteger)).toBe(true);
  });
};
