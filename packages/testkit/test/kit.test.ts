import type { Store } from "@onceward/core";
import { type MemoryStore, memoryBackend, memoryStore } from "@onceward/store-memory";
import { describe, expect, it } from "vitest";
import { type StoreSuite, storeCases } from "../src/index.ts";
import { randomBytes } from "../src/store/bytes.ts";

function suiteOf(change: (store: MemoryStore) => Store): StoreSuite & { readonly open: Set<Store> } {
  const backend = memoryBackend();
  const open = new Set<Store>();
  const create = async () => {
    const changed = change(memoryStore({ backend }));
    const store: Store = {
      ...changed,
      close: () => {
        open.delete(store);
        return changed.close();
      },
    };
    open.add(store);
    return store;
  };
  return { name: "a store", create, open, patienceMs: 100 };
}

const caseOf = (suite: StoreSuite, number: string) =>
  storeCases(suite).find(({ name }) => name.startsWith(`${number} `))!;

describe("the kit", () => {
  it("closes every store that it created, also when a case fails", async () => {
    const right = suiteOf((store) => store);
    await caseOf(right, "S1.4").run();
    expect(right.open.size).toBe(0);
    const wrong = suiteOf((store) => ({ ...store, find: async () => null }));
    await expect(caseOf(wrong, "S1.4").run()).rejects.toThrow();
    expect(wrong.open.size).toBe(0);
  });

  it("says which capability a case lacks, instead of passing it", async () => {
    const suite = suiteOf(({ list, watch, sweep, ...store }) => store);
    expect(await caseOf(suite, "S8.12").run()).toBe("the store has no list");
    expect(await caseOf(suite, "S10.1").run()).toBe("the store has no watch");
    expect(await caseOf(suite, "S8.8").run()).toBe("the store has no sweep");
    expect(await caseOf(suite, "S8.6").run()).toBeUndefined();
    expect(await caseOf(suite, "S8.7").run()).toBeUndefined();
    expect(await caseOf(suite, "S11.1").run()).toBeUndefined();
  });

  it("gives up on what never happens, and says what that was", async () => {
    const suite = suiteOf((store) => ({ ...store, watch: () => new Promise(() => {}) }));
    await expect(caseOf(suite, "S10.1").run()).rejects.toThrow(/Still pending after 100 ms: watch after a completion/);
    const frozen = suiteOf((store) => ({ ...store, find: async () => null }));
    await expect(caseOf(frozen, "S5.6").run()).rejects.toThrow(/did not come true: a lease of \d+ ms runs out/);
  });

  it("leaves out the cases that need a hook or a clock that the suite lacks", () => {
    const backend = memoryBackend();
    const plain: StoreSuite = { name: "plain", create: () => memoryStore({ backend }) };
    const numbers = (suite: StoreSuite) => storeCases(suite).map(({ name }) => name.split(/[ .]/)[0]);
    expect(numbers(plain)).toContain("S7");
    expect(numbers(plain)).not.toContain("S12");
    expect(numbers({ ...plain, sharesDate: true })).not.toContain("S7");
    expect(numbers({ ...plain, outage: { begin: () => {}, end: () => {} } })).toContain("S12");
  });

  it("gives each case a number of its own", () => {
    const backend = memoryBackend();
    const hooks = { inspect: () => null, outage: { begin: () => {}, end: () => {} }, roundTrips: () => 0 };
    const cases = storeCases({ name: "all", create: () => memoryStore({ backend }), ...hooks });
    const numbers = cases.map(({ name }) => name.split(" ")[0]);
    expect(new Set(numbers).size).toBe(numbers.length);
    for (const { name, group } of cases) expect(name).toMatch(new RegExp(`^${group.split(" ")[0]}[. ]`));
  });

  it("makes the same random bytes of the same seed", () => {
    expect(randomBytes(64, 7)).toEqual(randomBytes(64, 7));
    expect(randomBytes(64, 7)).not.toEqual(randomBytes(64, 8));
    expect(new Set(randomBytes(10_000, 7)).size).toBe(256);
  });
});
