import { onceward } from "@onceward/core";
import { eventually, type PgBouncer, type PostgresServer, startPgBouncer, startPostgres } from "@onceward/test-servers";
import type { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PostgresStore, postgresStore } from "../src/index.ts";
import { claimed, HOUR_MS, mustNotHappen, openPool, testing, testPool } from "./support.ts";

let server: PostgresServer;
let bouncer: PgBouncer;
let pool: Pool;
beforeAll(async () => {
  server = await startPostgres();
  bouncer = await startPgBouncer(server, { poolSize: 4 });
  pool = openPool(server.url);
  await postgresStore({ client: pool }).migrate();
});
afterAll(async () => {
  await pool.end();
  await bouncer.stop();
  await server.stop();
});

/** Connections that listen, by their own last words. */
const listeners = async (): Promise<number[]> => {
  const rows = await server.query("select pid from pg_stat_activity where query ilike 'listen %' order by pid");
  return rows.map(({ pid }) => pid);
};
const never = () => new AbortController().signal;
const watching = (store: PostgresStore, id: string, fence: number): Promise<void> => {
  if (store.watch === undefined) throw new Error("the store has no watch");
  return store.watch(id, fence, never());
};
/** Resolves when the watch has reached the server. */
const isWatched = (id: string) =>
  eventually(
    async () => (await server.query("select from onceward.records where id = $1 and watched", [id])).length === 1,
    { what: "the record is watched" },
  );

describe("one subscription", () => {
  it("serves all waiters of a store, opens with the first and closes with the store", async () => {
    const store = testing(postgresStore({ client: pool }));
    const runs = await Promise.all(Array.from({ length: 100 }, () => claimed(store)));
    expect(await listeners()).toEqual([]);
    const watches = runs.flatMap(({ id, fence }) => [watching(store, id, fence), watching(store, id, fence)]);
    await Promise.all(runs.map(({ id }) => isWatched(id)));
    expect(await listeners()).toHaveLength(1);
    await Promise.all(runs.map(({ id, token }) => store.complete(id, token, Buffer.from("done"), HOUR_MS)));
    await Promise.all(watches);
    expect(await listeners()).toHaveLength(1);
    await store.close();
    await eventually(async () => (await listeners()).length === 0, { what: "nobody listens" });
  });

  it("comes back when its backend is ended, and wakes who waited", async () => {
    const store = testing(postgresStore({ client: pool }));
    const { id, token, fence } = await claimed(store);
    const watch = watching(store, id, fence);
    await isWatched(id);
    const [before] = await listeners();
    await server.query("select pg_terminate_backend($1)", [before]);
    // It may have missed something: the waiter asks again.
    await watch;
    const again = watching(store, id, fence);
    await eventually(async () => (await listeners()).some((pid) => pid !== before), { what: "a new subscription" });
    await mustNotHappen(again);
    await store.complete(id, token, Buffer.from("done"), HOUR_MS);
    await again;
  });

  it("ends with the caller's pool, which would wait for it for ever", async () => {
    const ending = openPool(server.url);
    const store = testing(postgresStore({ client: ending }));
    const { id, fence } = await claimed(store);
    const watch = watching(store, id, fence);
    await isWatched(id);
    await ending.end();
    await watch;
  });

  it("survives the crash and the restart of the server", async () => {
    const store = testing(postgresStore({ client: pool }));
    const { id, token, fence } = await claimed(store);
    const watch = watching(store, id, fence);
    await isWatched(id);
    await server.kill();
    await server.restart();
    await watch;
    const again = eventually(() => watching(store, id, fence).then(() => true), { what: "a watch" });
    await eventually(() => store.complete(id, token, Buffer.from("done"), HOUR_MS), { what: "the completion" });
    await again;
    expect(await store.find(id)).toMatchObject({ state: "completed" });
  });
});

describe("behind a pooler in transaction mode", () => {
  it("warns that LISTEN reaches nobody, and waiters poll", async () => {
    const store = testing(postgresStore({ client: testPool(bouncer.url) }));
    const warnings: string[] = [];
    store.onEvent((event) => event.type === "store-warning" && warnings.push(event.code));
    const { id, fence } = await claimed(store);
    await watching(store, id, fence);
    await watching(store, id, fence);
    expect(warnings.filter((code) => code === "listen-failed")).toHaveLength(1);
  });

  it("has no watch with `listen: false`, and the engine polls", async () => {
    const stores = [1, 2].map(() => postgresStore({ client: testPool(bouncer.url), listen: false }));
    expect(stores.map(({ watch }) => watch)).toEqual([undefined, undefined]);
    const [first, second] = stores.map((store) => onceward({ store }));
    let finish = () => {};
    const started = new Promise<void>((resolve) => {
      first?.on("claimed", () => resolve());
    });
    const work = first?.run(
      { operation: "pay", key: "1" },
      () => new Promise((resolve) => (finish = () => resolve(1))),
    );
    await started;
    const waiting = new Promise<void>((resolve) => {
      second?.on("waiting", () => resolve());
    });
    const duplicate = second?.run({ operation: "pay", key: "1" }, () => 2);
    await waiting;
    finish();
    expect(await work).toMatchObject({ value: 1, replayed: false });
    expect(await duplicate).toMatchObject({ value: 1, replayed: true });
    await Promise.all([first?.close(), second?.close()]);
  });
});
