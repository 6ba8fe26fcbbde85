import { StoreRejectedError } from "@onceward/core";
import { type FreshDatabase, freshDatabase, type PostgresServer, startPostgres } from "@onceward/test-servers";
import { Client, type Pool } from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type PostgresStoreOptions, postgresStore } from "../src/index.ts";
import { completed, openPool, request, testing, testPool, unique } from "./support.ts";

let server: PostgresServer;
let database: FreshDatabase;
let pool: Pool;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());
beforeEach(async () => {
  database = await freshDatabase(server);
  pool = openPool(database.url);
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

const open = (options: Partial<PostgresStoreOptions> = {}) => testing(postgresStore({ client: pool, ...options }));
const ledger = async (table = "onceward.records_migrations") =>
  (await pool.query(`select track, version, name, applied_at from ${table} order by 1, 2`)).rows;
/** Everything that exists, by kind and name. */
const objects = async () =>
  (
    await pool.query(
      `select relkind::text as kind, relnamespace::regnamespace || '.' || relname as name from pg_class
       where relnamespace::regnamespace::text not in ('pg_catalog', 'information_schema', 'pg_toast')
       union all select 'f', pronamespace::regnamespace || '.' || proname from pg_proc
       where pronamespace::regnamespace::text not in ('pg_catalog', 'information_schema') order by 1, 2`,
    )
  ).rows;

describe("migrate()", () => {
  it("is safe for 20 instances that start at once, and again", async () => {
    const clients = Array.from({ length: 20 }, () => testPool(database.url, { max: 2 }));
    const stores = clients.map((client) => testing(postgresStore({ client, archive: true })));
    // Connecting takes longer than migrating, and would keep them apart.
    await Promise.all(clients.map((client) => client.query("select 1")));
    await Promise.all(stores.map((store) => store.migrate()));
    const first = await ledger();
    expect(first.map(({ track, version }) => `${track} ${version}`)).toEqual(["archive 1", "records 1"]);
    const made = await objects();
    await Promise.all(stores.map((store) => store.migrate()));
    expect(await ledger()).toEqual(first);
    expect(await objects()).toEqual(made);
    await Promise.all(stores.map((store) => completed(store)));
  });

  it("also under repeatable read and serializable", async () => {
    for (const level of ["repeatable read", "serializable"]) {
      const client = testPool(database.url, {
        options: `-c default_transaction_isolation=${level.replace(" ", "\\ ")}`,
      });
      const schema = level.replace(" ", "_");
      const stores = Array.from({ length: 5 }, () => testing(postgresStore({ client, schema })));
      await Promise.all(stores.map((store) => store.migrate()));
      expect(await ledger(`${schema}.records_migrations`)).toHaveLength(1);
    }
  });

  it("adds what an option asks for later, and keeps the records", async () => {
    const before = open();
    await before.migrate();
    const { id } = await completed(before);
    const after = open({ archive: true });
    await expect(after.ping()).rejects.toThrow(/lacks a migration \(archive 1\).*migrate\(\)/);
    await after.migrate();
    expect(await after.claim(id, request())).toMatchObject({ state: "completed" });
    expect((await ledger()).map(({ track }) => track)).toEqual(["archive", "records"]);
  });

  it("changes nothing when it fails, and leaves the connection usable", async () => {
    await pool.query("create schema onceward; create table onceward.records_archive (mine int)");
    const client = new Client(database.url);
    await client.connect();
    const store = postgresStore({ client, archive: true, listen: false });
    await expect(store.migrate()).rejects.toThrow(/records_archive.*already exists/);
    expect((await client.query("select to_regclass('onceward.records') as made")).rows).toEqual([{ made: null }]);
    await store.close();
    await client.end();
  });

  it("needs no right to create when there is nothing to do", async () => {
    await open().migrate();
    await pool.query("create role guest login password 'guest'");
    await pool.query("grant usage on schema onceward to guest");
    await pool.query("grant select, insert, update, delete on all tables in schema onceward to guest");
    await pool.query("grant usage on all sequences in schema onceward to guest");
    const url = new URL(database.url);
    [url.username, url.password] = ["guest", "guest"];
    const guest = testing(postgresStore({ client: testPool(url.href) }));
    await guest.migrate();
    await completed(guest);
  });
});

describe("migrationSql()", () => {
  it("is what migrate() runs, and a script for whoever runs their own", async () => {
    const store = open({ schema: "idempotency", table: "keys", archive: "old_keys" });
    const sql = store.migrationSql();
    await pool.query(sql);
    await pool.query(sql);
    await completed(store);
    expect(await ledger("idempotency.keys_migrations")).toHaveLength(2);
    const printed = await objects();
    await store.migrate();
    expect(await objects()).toEqual(printed);
  });
});

describe("names", () => {
  it("may be any that SQL would want quoted, and stores of two tables are strangers", async () => {
    const one = open({ schema: "Order", table: "Select" });
    const other = open({ schema: "Order", table: "from" });
    await one.migrate();
    await other.migrate();
    const { id } = await completed(one);
    expect(await other.find(id)).toBeNull();
    expect(await other.claim(id, request())).toMatchObject({ state: "claimed" });
  });

  it("of the longest length keep apart what belongs to them", async () => {
    const longest = "t".repeat(52);
    const store = open({ table: longest });
    await store.migrate();
    await completed(store);
    const names = (await objects()).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe("a table that isn't what this release needs", () => {
  it("is missing: run migrate()", async () => {
    const store = open();
    for (const call of [() => store.claim(unique(), request()), () => store.ping(), () => store.find(unique())]) {
      await expect(call()).rejects.toThrow(StoreRejectedError);
    }
    await expect(store.ping()).rejects.toThrow(/run `await store\.migrate\(\)`/);
    // Somebody did, and this store needs no restart.
    await open().migrate();
    await completed(store);
  });

  it("vanished under a running store", async () => {
    const store = open();
    await store.migrate();
    await completed(store);
    await pool.query("drop schema onceward cascade");
    await expect(store.claim(unique(), request())).rejects.toThrow(/run `await store\.migrate\(\)`/);
    await store.migrate();
    await completed(store);
  });

  it("is of a newer release: nothing is read, written or migrated", async () => {
    const store = open();
    await store.migrate();
    await pool.query("insert into onceward.records_migrations values ('records', 7, '000007_future')");
    const late = open();
    for (const call of [() => late.claim(unique(), request()), () => late.ping(), () => late.migrate()]) {
      await expect(call()).rejects.toThrow(/version 7.*knows 1: upgrade the package/);
    }
    expect(await ledger()).toHaveLength(2);
  });
});
