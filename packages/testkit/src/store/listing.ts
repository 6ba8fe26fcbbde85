import type { ListFilter, Store, StoredRecord } from "@onceward/core";
import { expect } from "vitest";
import { bytes, claimed, type Group, hourMs, request, unique } from "./context.ts";

async function collect(store: Store, filter?: ListFilter): Promise<StoredRecord[]> {
  const records: StoredRecord[] = [];
  for await (const record of store.list!(filter)) records.push(record);
  return records;
}

/** S8, for operators: what `list` shows. */
export const listing: Group = (declare) => {
  declare(
    "S8.11 list yields the records of a state, as find shows them but without outcomes",
    async ({ store, another, shortMs, pass }) => {
      const other = await another();
      const ids = { running: unique(), abandoned: unique(), completed: unique() };
      const [token, gone, released, expired] = [unique(), unique(), unique(), unique()];
      await claimed(store, ids.running, request({ label: "running one" }));
      await claimed(store, ids.abandoned, request({ token, leaseMs: shortMs }));
      await store.saveStep(ids.abandoned, token, "step", bytes("1"));
      for (const id of [ids.completed, expired, released, gone]) await claimed(store, id, request({ token }));
      await store.complete(ids.completed, token, bytes("done"), hourMs);
      await store.complete(expired, token, bytes("done"), shortMs);
      await store.saveStep(released, token, "step", bytes("1"));
      await store.release(released, token);
      await store.remove(gone);
      await pass(shortMs);
      const all = await collect(other);
      const listed = (records: StoredRecord[], id: string) => records.filter((record) => record.id === id);
      for (const id of [gone, released, expired]) expect(listed(all, id)).toEqual([]);
      for (const state of ["running", "abandoned", "completed"] as const) {
        const filtered = await collect(other, { state });
        expect(new Set(filtered.map((record) => record.state))).toEqual(new Set([state]));
        for (const records of [all, filtered]) {
          expect(listed(records, ids[state]), `the ${state} record, once`).toHaveLength(1);
          const { leaseRemainingMs, outcome, ...facts } = (await store.find(ids[state]))!;
          expect(listed(records, ids[state])[0]).toMatchObject(JSON.parse(JSON.stringify(facts)));
          expect(listed(records, ids[state])[0]!.outcome).toBeUndefined();
        }
      }
    },
    "list",
  );

  declare(
    "S8.12 list yields at most `limit` records, and may be left early",
    async ({ store }) => {
      const ids = Array.from({ length: 7 }, unique);
      for (const id of ids) await claimed(store, id, request());
      expect(await collect(store, { limit: 3 })).toHaveLength(3);
      expect(await collect(store, { state: "running", limit: 1 })).toHaveLength(1);
      for await (const record of store.list()) {
        expect(record.id).toBeTypeOf("string");
        break;
      }
      expect(await store.find(ids[0]!)).toMatchObject({ state: "running" });
    },
    "list",
  );

  declare(
    "S8.13 list yields every one of 1,000 records once, while others come and go",
    async ({ store, another }) => {
      const other = await another();
      const ids = Array.from({ length: 1_000 }, unique);
      await Promise.all(ids.map((id) => claimed(store, id, request())));
      const seen: string[] = [];
      for await (const { id } of other.list()) {
        if (seen.push(id) % 200 !== 0) continue;
        const passing = unique();
        await claimed(store, passing, request());
        await store.remove(passing);
      }
      const own = new Set(ids);
      expect(seen.filter((id) => own.has(id)).sort()).toEqual([...ids].sort());
      await Promise.all(ids.map((id) => store.remove(id)));
    },
    "list",
  );
};
