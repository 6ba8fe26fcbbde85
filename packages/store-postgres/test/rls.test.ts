import { type FreshDatabase, freshDatabase, type PostgresServer, startPostgres } from "@onceward/test-servers";
import type { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PostgresStore, type PostgresStoreOptions, postgresStore } from "../src/index.ts";
import { claimed, completed, HOUR_MS, openPool, request, testing, testPool, unique } from "./support.ts";

let server: PostgresServer;
let database: FreshDatabase;
let admin: Pool;
beforeAll(async () => {
  server = await startPostgres();
  database = await freshDatabase(server);
  admin = openPool(database.url);
  for (const schema of ["by_role", "by_setting"]) {
    const rls = schema === "by_role" ? true : { setting: "app.tenant" };
    await postgresStore({ client: admin, schema, rls, archive: true }).migrate();
  }
  for (const role of ["alice", "bob", "service"]) {
    await admin.query(`create role ${role} login password 'secret'`);
    for (const schema of ["by_role", "by_setting"]) {
      await admin.query(`grant usage on schema ${schema} to ${role}`);
      await admin.query(`grant select, insert, update, delete on all tables in schema ${schema} to ${role}`);
      await admin.query(`grant usage on all sequences in schema ${schema} to ${role}`);
    }
  }
});
afterAll(async () => {
  await admin.end();
  await server.stop();
});

/** A pool of somebody's, with what their connections say first. */
function poolOf(role: string, options = ""): Pool {
  const url = new URL(database.url);
  [url.username, url.password] = [role, "secret"];
  return testPool(url.href, { options });
}

interface Tenancy {
  readonly schema: string;
  readonly rls: PostgresStoreOptions["rls"];
  readonly pools: () => [Pool, Pool];
}
const tenancies: Record<string, Tenancy> = {
  "a role for each tenant": { schema: "by_role", rls: true, pools: () => [poolOf("alice"), poolOf("bob")] },
  "a setting for each tenant": {
    schema: "by_setting",
    rls: { setting: "app.tenant" },
    pools: () => [poolOf("service", "-c app.tenant=alice"), poolOf("service", "-c app.tenant=bob")],
  },
};

describe.each(Object.entries(tenancies))("row-level security, %s", (_, { schema, rls, pools }) => {
  const open = (client: Pool) => testing(postgresStore({ client, schema, rls, archive: true }));
  const listed = async (store: PostgresStore) => {
    const ids: string[] = [];
    for await (const { id } of store.list()) ids.push(id);
    return ids;
  };

  it("another tenant sees, changes and meets nothing", async () => {
    const [alice, bob] = pools().map(open) as [PostgresStore, PostgresStore];
    const running = await claimed(alice);
    const done = await completed(alice);
    for (const { id, token } of [running, done]) {
      expect(await bob.find(id)).toBeNull();
      expect(await bob.remove(id)).toBe(false);
      expect(await bob.release(id, token)).toBe(false);
      expect(await bob.renew(id, token, HOUR_MS)).toBe(false);
      expect(await bob.saveStep(id, token, "step", Buffer.from("1"))).toBe(false);
      expect(await bob.complete(id, token, Buffer.from("forged"), HOUR_MS)).toBe(false);
      // Not even that the id exists: the same one is free for Bob.
      expect(await bob.claim(id, request())).toMatchObject({ state: "claimed", attempt: 1 });
    }
    expect(await listed(alice)).toEqual(expect.arrayContaining([running.id, done.id]));
    await alice.remove(done.id);
    expect(await bob.find(done.id)).toMatchObject({ state: "running" });
    expect(await alice.find(running.id)).toMatchObject({ state: "running", token: running.token });
  });

  it("holds for SQL that goes past the store", async () => {
    const [alices, bobs] = pools();
    const { id } = await completed(open(alices));
    const seen = async (pool: Pool) => {
      const { rows } = await pool.query(`select id from ${schema}.records where id = $1`, [id]);
      return rows.length;
    };
    expect([await seen(alices), await seen(bobs)]).toEqual([1, 0]);
    await bobs.query(`delete from ${schema}.records`);
    await bobs.query(`update ${schema}.records set label = 'stolen'`);
    expect(await seen(alices)).toBe(1);
    const forge = `insert into ${schema}.records select r.* from jsonb_populate_record(null::${schema}.records, $1) r`;
    const { rows } = await alices.query(`select to_jsonb(r) as row from ${schema}.records r where id = $1`, [id]);
    await expect(bobs.query(forge, [{ ...rows[0].row, id: unique() }])).rejects.toThrow(/row-level security/);
  });

  it("sweeps and archives for each tenant apart", async () => {
    const [alices, bobs] = pools();
    const [alice, bob] = [open(alices), open(bobs)];
    await completed(alice, 1);
    await completed(bob, 1);
    const archive = async (pool: Pool) => Number((await pool.query(`select from ${schema}.records_archive`)).rowCount);
    expect([await archive(alices), await archive(bobs)]).toEqual([0, 0]);
    while ((await bob.sweep(100)) === 0);
    expect([await archive(alices), await archive(bobs)]).toEqual([0, 1]);
    while ((await alice.sweep(100)) === 0);
    expect([await archive(alices), await archive(bobs)]).toEqual([1, 1]);
  });
});

describe("what is not set up", () => {
  it("is refused when no tenant was set, with the remedy", async () => {
    const store = testing(
      postgresStore({ client: poolOf("service"), schema: "by_setting", rls: { setting: "app.tenant" } }),
    );
    await expect(store.claim(unique(), request())).rejects.toThrow(/`rls: \{ setting \}`, that setting must be made/);
    expect(await store.find(unique())).toBeNull();
  });

  it("is refused when the table has tenants and the store doesn't know", async () => {
    const store = testing(postgresStore({ client: poolOf("alice"), schema: "by_role" }));
    await expect(store.ping()).rejects.toThrow(/was migrated with `rls`: set that option here too/);
  });

  it("is refused when the store wants tenants and the table has none", async () => {
    await postgresStore({ client: admin, schema: "plain" }).migrate();
    const store = testing(postgresStore({ client: admin, schema: "plain", rls: true }));
    await expect(store.ping()).rejects.toThrow(/lacks a migration \(rls 1\)/);
  });
});
