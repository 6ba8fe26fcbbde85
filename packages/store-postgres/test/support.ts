import { randomBytes } from "node:crypto";
import type { ClaimRequest, Store } from "@onceward/core";
import type { Inspection } from "@onceward/testkit";
import { Pool, type PoolConfig } from "pg";
import { expect, onTestFinished } from "vitest";

/** Far more than any test takes. */
export const HOUR_MS = 3_600_000;

/** In the form of core's ids and tokens. */
export const unique = (): string => randomBytes(32).toString("base64url");

/** A claim of a new token, for an hour unless the difference says otherwise. */
export const request = (difference: Partial<ClaimRequest> = {}): ClaimRequest => ({
  token: unique(),
  fingerprint: "fingerprint",
  leaseMs: HOUR_MS,
  retainMs: HOUR_MS,
  takeover: true,
  ...difference,
});

/** Claims what nobody has. */
export async function claimed(store: Store, difference: Partial<ClaimRequest> = {}) {
  const id = unique();
  const asked = request(difference);
  const result = await store.claim(id, asked);
  if (result.state !== "claimed") throw new Error(`the claim of a new id is ${result.state}`);
  return { id, token: asked.token, fence: result.fence };
}

/** A record with an outcome. */
export async function completed(store: Store, ttlMs = HOUR_MS) {
  const { id, token } = await claimed(store);
  expect(await store.complete(id, token, Buffer.from("done"), ttlMs)).toBe(true);
  return { id, token };
}

/** A pool whose lost connections are nobody's business: tests end servers on purpose. */
export function openPool(url: string, config: PoolConfig = {}): Pool {
  const pool = new Pool({ connectionString: url, ...config });
  pool.on("error", () => {});
  return pool;
}

/** A pool for one test. */
export function testPool(url: string, config: PoolConfig = {}): Pool {
  const pool = openPool(url, config);
  onTestFinished(() => pool.end());
  return pool;
}

/** Sees that a store of one test is closed, before its pool is. */
export function testing<T extends Store>(store: T): T {
  onTestFinished(() => store.close());
  return store;
}

/** Gives something that must not happen the time to do so; slowness can't fail it. */
export async function mustNotHappen(event: Promise<unknown>): Promise<void> {
  const happened = event.then(() => true);
  const waited = new Promise((resolve) => setTimeout(resolve, 100, false));
  expect(await Promise.race([happened, waited]), "it happened").toBe(false);
}

/** Anything that answers to SQL, be it a pool or PGlite. */
interface Queryable {
  query(sql: string, values: unknown[]): Promise<{ rows: object[] }>;
}

/** What the kit wants to know of a row, read without the store. */
export const inspector =
  (database: Queryable, table: string) =>
  async (id: string): Promise<Inspection | null> => {
    const { rows } = await database.query(
      `select (date_part('epoch', expires_at - clock_timestamp()) * 1000)::float8 as "expiresInMs",
         coalesce(outcome, '') || coalesce((select string_agg(step, '') from unnest(step_results) step), '') as bytes
       from ${table} where id = $1`,
      [id],
    );
    return (rows[0] as Inspection | undefined) ?? null;
  };
