import { onceward, type StoreEvent } from "@onceward/core";
import { eventually, type PostgresServer, startPostgres } from "@onceward/test-servers";
import { Client, type Pool } from "pg";
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from "vitest";
import { type PostgresStore, type PostgresStoreOptions, postgresStore } from "../src/index.ts";
import { claimed, completed, openPool, request, testing } from "./support.ts";

let server: PostgresServer;
let pool: Pool;
beforeAll(async () => {
  server = await startPostgres({ config: ["shared_preload_libraries = 'pg_stat_statements'"] });
  pool = openPool(server.url);
  await postgresStore({ client: pool, archive: true }).migrate();
  await pool.query("create extension pg_stat_statements");
});
afterAll(async () => {
  await pool.end();
  await server.stop();
});
beforeEach(async () => {
  await pool.query("truncate onceward.records, onceward.records_archive");
});

const open = (options: Partial<PostgresStoreOptions> = {}) => testing(postgresStore({ client: pool, ...options }));
const count = async (table = "records") => Number((await pool.query(`select from onceward.${table}`)).rowCount);

/** Records that have expired; made by hand, because a store would take its time. */
async function expired(number: number): Promise<void> {
  await pool.query(
    `insert into onceward.records select 'old' || n, '', 'token', 'fingerprint', null, n, 1, d, d, d + n * interval '1 ms', 1, false, false, '{}', '{}',
       d, d, 'outcome' from generate_series(1, $1::int) n, (select now() - interval '1 hour') as t (d)`,
    [number],
  );
}

/** A transaction that holds what the SQL locks. */
async function holding(sql: string): Promise<Client> {
  const client = new Client(server.url);
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("begin");
  await client.query(sql);
  return client;
}

it("deletes what has expired, in small batches, at most the limit, and reports it", async () => {
  const store = open({ sweepBatch: 10 });
  await expired(45);
  const { id } = await completed(store);
  const events: StoreEvent[] = [];
  store.onEvent((event) => events.push(event));
  await pool.query("select pg_stat_statements_reset()");
  expect(await store.sweep(35)).toBe(35);
  expect(await store.sweep(35)).toBe(10);
  expect(await store.sweep(35)).toBe(0);
  const { rows } = await pool.query(
    "select sum(calls)::int as statements from pg_stat_statements where query like 'WITH turn%'",
  );
  // 10 + 10 + 10 + 5; 10 and none; none.
  expect(rows).toEqual([{ statements: 7 }]);
  expect(events).toMatchObject([
    { type: "swept", removed: 35 },
    { type: "swept", removed: 10 },
  ]);
  expect(await store.find(id)).toMatchObject({ state: "completed" });
  expect(await count()).toBe(1);
});

it("leaves rows that somebody works on, and waits for nobody", async () => {
  await expired(10);
  const holder = await holding("select from onceward.records where id in ('old3', 'old4') for update");
  expect(await open().sweep(100)).toBe(8);
  await holder.query("commit");
  expect(await open().sweep(100)).toBe(2);
});

it("never blocks claims: neither of what it deletes nor of anything else", async () => {
  await expired(20);
  const store = open();
  const sweeper = new Client(server.url);
  await sweeper.connect();
  onTestFinished(() => sweeper.end());
  const sweeping = postgresStore({ client: sweeper, listen: false });
  await sweeping.ping();
  await sweeper.query("begin");
  expect(await sweeping.sweep(10)).toBe(10);
  // Ten rows are deleted, and not yet committed. All others are as free as ever.
  const others = ["new", ...Array.from({ length: 10 }, (_, n) => `old${n + 11}`)];
  const claims = await Promise.all(others.map((id) => store.claim(id, request())));
  expect(new Set(claims.map(({ state }) => state))).toEqual(new Set(["claimed"]));
  // One of the ten waits for that transaction, which is one short statement of a real sweep, and then gets it.
  const late = store.claim("old1", request());
  await sweeper.query("commit");
  expect(await late).toMatchObject({ state: "claimed", attempt: 1 });
});

it("doesn't delete what was claimed anew while it looked", async () => {
  await expired(1);
  const holder = await holding("select from onceward.records where id = 'old1' for update");
  expect(await open().sweep(10)).toBe(0);
  await holder.query("commit");
  const store = open();
  expect(await store.claim("old1", request())).toMatchObject({ state: "claimed", attempt: 1 });
  expect(await store.sweep(10)).toBe(0);
  expect(await store.find("old1")).toMatchObject({ state: "running" });
});

it("is done by one instance at a time", async () => {
  await expired(100);
  const stores = Array.from({ length: 5 }, () => open({ sweepBatch: 5 }));
  const first = new Client(server.url);
  await first.connect();
  onTestFinished(() => first.end());
  const sweeping = postgresStore({ client: first, listen: false });
  await sweeping.ping();
  await first.query("begin");
  expect(await sweeping.sweep(10)).toBe(10);
  expect(await Promise.all(stores.map((store) => store.sweep(100)))).toEqual([0, 0, 0, 0, 0]);
  await first.query("commit");
  const removed = await Promise.all(stores.map((store) => store.sweep(1_000)));
  expect(removed.reduce((sum, number) => sum + number, 0)).toBeGreaterThan(0);
  await eventually(async () => (await stores[0]?.sweep(1_000)) === 0 && (await count()) === 0, {
    what: "all are gone",
  });
});

it("runs by itself, scheduled by the engine", async () => {
  await expired(1_500);
  const once = onceward({ store: postgresStore({ client: pool, listen: false }), sweepIntervalMs: 20 });
  const swept = new Promise((resolve) => once.on("swept", resolve));
  expect(await swept).toMatchObject({ type: "swept", removed: expect.any(Number) });
  await eventually(async () => (await count()) === 0, { what: "all are gone" });
  await once.close();
});

it("moves to the archive instead of deleting, every byte of it", async () => {
  const store: PostgresStore = open({ archive: true });
  const abandoned = await claimed(store, { leaseMs: 1, retainMs: 1, label: "POST /orders" });
  await expired(3);
  await eventually(async () => (await store.find(abandoned.id)) === null, { what: "the record is forgotten" });
  expect(await store.sweep(100)).toBe(4);
  expect(await count()).toBe(0);
  const { rows } = await pool.query(
    "select id, label, outcome, fence, archived_at from onceward.records_archive order by id",
  );
  expect(rows).toHaveLength(4);
  expect(rows).toContainEqual(
    expect.objectContaining({ id: abandoned.id, label: "POST /orders", outcome: null, fence: String(abandoned.fence) }),
  );
  expect(rows).toContainEqual(expect.objectContaining({ id: "old2", outcome: Buffer.from("outcome") }));
  // The id is free again, and its next life is archived beside this one.
  expect(await store.claim("old2", request())).toMatchObject({ state: "claimed", attempt: 1 });
});
