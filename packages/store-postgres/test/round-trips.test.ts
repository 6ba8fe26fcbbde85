import { eventually, freshDatabase, type PostgresServer, startPostgres } from "@onceward/test-servers";
import type { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type PostgresStore, postgresStore } from "../src/index.ts";
import { storeSql } from "../src/sql.ts";
import { claimed, completed, HOUR_MS, mustNotHappen, openPool, request, testing } from "./support.ts";

let server: PostgresServer;
let pool: Pool;
let url: string;
beforeAll(async () => {
  server = await startPostgres({ config: ["shared_preload_libraries = 'pg_stat_statements'"] });
  ({ url } = await freshDatabase(server));
  pool = openPool(url);
  await pool.query("create extension pg_stat_statements");
  await postgresStore({ client: pool }).migrate();
});
afterAll(async () => {
  await pool.end();
  await server.stop();
});

const statements = async (like = "%"): Promise<number> => {
  const { rows } = await pool.query(
    `select coalesce(sum(calls), 0)::int as calls from pg_stat_statements
     where query not like '%pg_stat_statements%' and query not like 'LISTEN%' and query like $1`,
    [like],
  );
  return rows[0].calls;
};

/** How many statements the server has run for it. */
async function cost(work: () => Promise<unknown>): Promise<number> {
  const before = await statements();
  await work();
  return (await statements()) - before;
}

/** A store that has looked at the ledger already, as it does once. */
async function usedStore(): Promise<PostgresStore> {
  const store = testing(postgresStore({ client: pool }));
  await store.ping();
  return store;
}

describe("what the server runs, by its own count", () => {
  it("two statements for a new request, one for a replay", async () => {
    const store = await usedStore();
    expect(await cost(() => completed(store))).toBe(2);
    const { id } = await completed(store);
    expect(await cost(() => store.claim(id, request()))).toBe(1);
  });

  it("one for the takeover of an expired lease, steps included", async () => {
    const store = await usedStore();
    const { id, token } = await claimed(store, { leaseMs: 1 });
    await store.saveStep(id, token, "step", Buffer.from("1"));
    await eventually(async () => (await store.find(id))?.state === "abandoned", { what: "the lease is over" });
    const takeover = async () => {
      const result = await store.claim(id, request());
      expect(result).toMatchObject({
        state: "claimed",
        takenOver: true,
        steps: new Map([["step", expect.anything()]]),
      });
    };
    expect(await cost(takeover)).toBe(1);
  });

  it("one for whatever else the engine calls", async () => {
    const store = await usedStore();
    const { id, token } = await claimed(store);
    expect(await cost(() => store.claim(id, request()))).toBe(1);
    expect(await cost(() => store.renew(id, token, HOUR_MS))).toBe(1);
    expect(await cost(() => store.saveStep(id, token, "step", Buffer.from("1")))).toBe(1);
    expect(await cost(() => store.find(id))).toBe(1);
    expect(await cost(() => store.release(id, token))).toBe(1);
    expect(await cost(() => store.claim(id, request({ token })))).toBe(1);
    expect(await cost(() => store.remove(id))).toBe(1);
  });

  it("prepares each statement once on a connection", async () => {
    const single = openPool(url, { max: 1 });
    onTestFinished(() => single.end());
    const store = testing(postgresStore({ client: single, listen: false }));
    for (let n = 0; n < 10; n += 1) await store.claim((await completed(store)).id, request());
    const { rows } = await single.query(
      "select name, generic_plans + custom_plans as runs from pg_prepared_statements order by name",
    );
    const runs = Object.fromEntries(rows.map(({ name, runs }) => [name.replace(/_[0-9a-f]+$/, ""), Number(runs)]));
    expect(runs).toEqual({ onceward_claim: 20, onceward_complete: 10, onceward_version: 1 });
  });

  it("none while somebody waits: the end of the work comes as a push", async () => {
    const [store, waiter] = [await usedStore(), await usedStore()];
    const { id, token, fence } = await claimed(store);
    const asked = await statements("%SET watched%");
    const watches = Array.from({ length: 9 }, () => waiter.watch?.(id, fence, new AbortController().signal));
    await eventually(async () => (await statements("%SET watched%")) === asked + 9, { what: "all have asked" });
    const before = await statements();
    await mustNotHappen(Promise.race(watches));
    expect(await statements()).toBe(before);
    await store.complete(id, token, Buffer.from("done"), HOUR_MS);
    await Promise.all(watches);
    expect(await statements()).toBe(before + 1);
  });
});

it("nothing is notified when nobody waits, as every NOTIFY takes a lock that all commits share", async () => {
  const store = await usedStore();
  const listener = await pool.connect();
  onTestFinished(() => listener.release(true));
  const { channel } = storeSql({ schema: "onceward", table: "records", archive: undefined, rls: false });
  await listener.query(`listen "${channel}"`);
  const { id, token, fence } = await claimed(store);
  const watch = store.watch?.(id, fence, new AbortController().signal);
  const { rows } = await eventually(
    async () => {
      const found = await pool.query("select id from onceward.records where watched and completed_at is null");
      return found.rows.length > 0 && found;
    },
    { what: "the record is marked as watched" },
  );
  expect(rows).toEqual([{ id }]);
  const heard: unknown[] = [];
  listener.on("notification", ({ payload }) => heard.push(payload));
  await completed(store);
  const released = await claimed(store);
  await store.release(released.id, released.token);
  await store.complete(id, token, Buffer.from("done"), HOUR_MS);
  await watch;
  await listener.query("select 1");
  expect(heard).toEqual([id]);
});
