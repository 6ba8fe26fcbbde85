import { type PostgresServer, startPostgres } from "@onceward/test-servers";
import type { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgresStore } from "../src/index.ts";
import { type StatementName, storeSql } from "../src/sql.ts";
import { claimed, HOUR_MS, openPool, request } from "./support.ts";

const RECORDS = 1_000_000;
const { statements } = storeSql({ schema: "onceward", table: "records", archive: undefined, rls: false });

let server: PostgresServer;
let pool: Pool;
beforeAll(async () => {
  server = await startPostgres({ config: ["autovacuum = off", "max_wal_size = '4GB'", "jit = off"] });
  // One connection, which keeps its prepared statements.
  pool = openPool(server.url, { max: 1 });
  await postgresStore({ client: pool, listen: false }).migrate();
});
afterAll(async () => {
  await pool.end();
  await server.stop();
});

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly Plans?: readonly PlanNode[];
}
const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/** How the server would find records for a statement: `Index Scan records_pkey`, `Seq Scan`, … */
async function scans(name: StatementName, values: readonly (string | number | boolean | null)[], mode: string) {
  const literals = values.map((value) => (typeof value === "string" ? `'${value}'` : String(value)));
  await pool.query(`set plan_cache_mode = ${mode}`);
  await pool.query(`prepare it as ${statements[name]([]).text}`);
  const { rows } = await pool.query(
    `explain (format json) execute it${literals.length > 0 ? `(${literals.join(", ")})` : ""}`,
  );
  await pool.query("deallocate it; reset plan_cache_mode");
  return nodesOf(rows[0]["QUERY PLAN"][0].Plan)
    .filter((node) => node["Relation Name"] === "records" && node["Node Type"].includes("Scan"))
    .map((node) => `${node["Node Type"]} ${node["Index Name"] ?? ""}`.trim());
}

const byKey = "Index Scan records_pkey";
const expected: readonly [StatementName, readonly (string | number | boolean | null)[], readonly string[]][] = [
  ["claim", ["id5", "token", "fingerprint", 1_000, 1_000, true, null], [byKey]],
  ["complete", ["id5", "token", "outcome", 1_000], [byKey]],
  ["release", ["id5", "token"], [byKey, byKey, byKey]],
  ["renew", ["id5", "token", 1_000], [byKey]],
  ["saveStep", ["id5", "token", "name", "result"], [byKey]],
  ["find", ["id5"], [byKey]],
  ["remove", ["id5"], [byKey]],
  ["watch", ["id5", 5], [byKey, byKey]],
  ["list", ["id5", 1_000, null], [byKey]],
  ["sweep", [500], ["Index Scan records_sweep", byKey]],
];

const modes = ["force_generic_plan", "force_custom_plan"];

describe("on an empty table, where plans are made that are kept", () => {
  it.each(expected.filter(([name]) => name !== "sweep"))("%s", async (name, values, plan) => {
    for (const mode of modes) expect((await scans(name, values, mode)).sort()).toEqual([...plan].sort());
  });
});

it("a sweep is planned anew each time", () => {
  expect(statements.sweep([500]).name).toBeUndefined();
});

describe("with a million records", () => {
  beforeAll(async () => {
    await pool.query("alter table onceward.records set unlogged");
    await pool.query(
      `insert into onceward.records
       select 'id' || n, '', 'token', 'fingerprint', null, n, 1, t, t, t + n * interval '1 s', 1, false, false, '{}', '{}',
         t + n * interval '1 s', t, 'outcome'
       from generate_series(1, ${RECORDS}) n, (select now() - interval '1 hour') as start (t)`,
    );
    await pool.query("analyze onceward.records");
  });

  it.each(expected)("%s", async (name, values, plan) => {
    for (const mode of modes) expect((await scans(name, values, mode)).sort()).toEqual([...plan].sort());
  });

  it("no call reads the table from end to end, inside of functions neither", async () => {
    const scanned = async () => {
      await pool.query("select pg_stat_force_next_flush()");
      const { rows } = await pool.query(
        "select seq_scan::int, idx_scan::int from pg_stat_user_tables where relname = 'records'",
      );
      return rows[0];
    };
    const store = postgresStore({ client: pool, listen: false });
    const before = await scanned();
    const { id, token } = await claimed(store, { leaseMs: 1 });
    await store.claim(id, request({ token }));
    await store.saveStep(id, token, "step", Buffer.from("1"));
    await store.renew(id, token, HOUR_MS);
    await store.release(id, token);
    await store.claim(id, request({ token }));
    await store.complete(id, token, Buffer.from("done"), HOUR_MS);
    await store.claim(id, request());
    await store.claim("id5", request());
    expect(await store.sweep(1_000)).toBe(1_000);
    let listed = 0;
    for await (const _ of store.list({ limit: 10 })) listed += 1;
    expect(listed).toBe(10);
    const after = await scanned();
    expect(after.seq_scan).toBe(before.seq_scan);
    expect(after.idx_scan).toBeGreaterThan(before.idx_scan + 9);
    await store.close();
  });
});
