import { StoreUnavailableError } from "@onceward/core";
import {
  type CountingProxy,
  countingProxy,
  eventually,
  type PostgresServer,
  startPostgres,
} from "@onceward/test-servers";
import { Client, type Pool } from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { type PostgresStore, postgresStore } from "../src/index.ts";
import { claimed, completed, HOUR_MS, openPool, request, testing, testPool, unique } from "./support.ts";

let server: PostgresServer;
let proxy: CountingProxy;
let pool: Pool;
let store: PostgresStore;
beforeAll(async () => {
  server = await startPostgres();
  proxy = await countingProxy(server.port);
  pool = openPool(proxy.through(server.url));
  await postgresStore({ client: pool }).migrate();
});
afterAll(async () => {
  await pool.end();
  await proxy.close();
  await server.stop();
});
beforeEach(async () => {
  // Warm, as in the middle of a working day.
  store = postgresStore({ client: pool, timeoutMs: 1_000 });
  await eventually(() => store.ping().then(() => true), { what: "the server answers" });
});
afterEach(() => store.close());

const unavailable = (call: Promise<unknown>) => expect(call).rejects.toBeInstanceOf(StoreUnavailableError);
/** The same store answers again, without anybody's help. */
const recovers = async () => {
  await eventually(() => completed(store).then(() => true), { what: "the store answers again" });
};

describe("a server that goes away", () => {
  it("was stopped in an orderly way, and comes back", async () => {
    const { id, token } = await claimed(store);
    await server.stop({ keepData: true });
    await unavailable(store.claim(unique(), request()));
    await unavailable(store.complete(id, token, Buffer.from("done"), HOUR_MS));
    await server.restart();
    await recovers();
    expect(await store.complete(id, token, Buffer.from("done"), HOUR_MS)).toBe(true);
  });

  it("crashed in the middle of calls, and comes back with every answered outcome", async () => {
    const answered: string[] = [];
    const working = Promise.allSettled(
      Array.from({ length: 8 }, async () => {
        for (;;) answered.push((await completed(store)).id);
      }),
    );
    await eventually(() => answered.length > 50, { what: "work is under way" });
    await server.kill();
    const reasons = (await working).map((result) => (result as PromiseRejectedResult).reason);
    for (const reason of reasons) expect(reason).toBeInstanceOf(StoreUnavailableError);
    await server.restart();
    await recovers();
    for (const id of answered) expect(await store.find(id)).toMatchObject({ state: "completed" });
  });

  it("hangs: calls end in time, and the pool is as good as before", async () => {
    await server.pause();
    await Promise.all(Array.from({ length: 30 }, () => unavailable(store.claim(unique(), request()))));
    await server.resume();
    await recovers();
    await eventually(() => pool.idleCount === pool.totalCount && pool.waitingCount === 0, {
      what: "all are given back",
    });
  });

  it("is behind a network that swallows everything", async () => {
    proxy.blackhole();
    await unavailable(store.claim(unique(), request()));
    proxy.restore();
    await recovers();
  });

  it("cuts connections that were idle", async () => {
    await Promise.all(Array.from({ length: 5 }, () => store.ping()));
    proxy.drop();
    await recovers();
  });
});

describe("a server that can't write or has no room", () => {
  const setting = async (name: string, value: string) => {
    await server.query(`alter system set ${name} = ${value}`);
    await server.query("select pg_reload_conf()");
  };

  it("is read-only, as after a failover, and then is not", async () => {
    const { id, token } = await claimed(store);
    const replay = await completed(store);
    await setting("default_transaction_read_only", "on");
    onTestFinished(() => setting("default_transaction_read_only", "off"));
    await eventually(
      () =>
        store.claim(unique(), request()).then(
          () => false,
          () => true,
        ),
      { what: "read-only" },
    );
    await expect(store.claim(unique(), request())).rejects.toThrow(/read-only transaction \(25006\)/);
    await unavailable(store.complete(id, token, Buffer.from("done"), HOUR_MS));
    // What needs no write still works.
    expect(await store.claim(replay.id, request())).toMatchObject({ state: "completed" });
    await setting("default_transaction_read_only", "off");
    await eventually(() => store.claim(unique(), request()).then(() => true), { what: "writable" });
    expect(await store.complete(id, token, Buffer.from("done"), HOUR_MS)).toBe(true);
  });

  it("takes no more connections", async () => {
    await server.query("create role crowd login password 'x' connection limit 1");
    await server.query("grant usage on schema onceward to crowd");
    await server.query("grant all on all tables in schema onceward to crowd");
    const url = new URL(server.url);
    [url.username, url.password] = ["crowd", "x"];
    const only = new Client(url.href);
    await only.connect();
    const crowded = testing(postgresStore({ client: testPool(url.href), listen: false }));
    await expect(crowded.ping()).rejects.toThrow(/too many connections.*53300/);
    await unavailable(crowded.ping());
    await only.end();
    await eventually(() => crowded.ping().then(() => true), { what: "there is room" });
  });

  it("has none left in the caller's pool, and gives none back late", async () => {
    const small = testPool(server.url, { max: 1 });
    const crowded = testing(postgresStore({ client: small, listen: false, timeoutMs: 100 }));
    await crowded.ping();
    const held = await small.connect();
    const id = unique();
    await unavailable(crowded.claim(id, request()));
    held.release();
    // What came too late was not sent.
    expect(await crowded.find(id)).toBeNull();
    await crowded.ping();
  });
});

describe("an answer that is lost", () => {
  const isClaim = (chunk: Buffer) => chunk.includes("onceward_claim");
  const isComplete = (chunk: Buffer) => chunk.includes("onceward_complete");

  it("to a claim: the same token finds its own claim", async () => {
    await completed(store);
    const [id, asked] = [unique(), request()];
    const lost = proxy.loseNextReply(isClaim);
    await unavailable(store.claim(id, asked));
    await lost;
    const found = await store.find(id);
    expect(found).toMatchObject({ state: "running", token: asked.token });
    expect(await store.claim(id, asked)).toMatchObject({ state: "claimed", fence: found?.fence, attempt: 1 });
  });

  it("to a complete: repeated, it is true and changes nothing", async () => {
    await completed(store);
    const { id, token } = await claimed(store);
    const lost = proxy.loseNextReply(isComplete);
    await unavailable(store.complete(id, token, Buffer.from("first"), HOUR_MS));
    await lost;
    expect(await store.complete(id, token, Buffer.from("second"), HOUR_MS)).toBe(true);
    expect(Buffer.from((await store.find(id))?.outcome ?? "").toString()).toBe("first");
  });
});

describe("a claim that was given up", () => {
  /** Holds the id's lock, so that the claim waits in the server for longer than its caller does. */
  async function blockClaims(id: string): Promise<() => Promise<void>> {
    const client = new Client(server.url);
    await client.connect();
    await client.query("begin");
    await client.query("select pg_advisory_xact_lock(hashtextextended($1, 6051))", [id]);
    return () => client.end();
  }

  it("is released by the same connection, also when the server grants it late", async () => {
    const id = unique();
    const unblock = await blockClaims(id);
    await unavailable(store.claim(id, request()));
    // The connection is not free for others yet: its statement still waits.
    expect(pool.totalCount - pool.idleCount).toBe(1);
    await unblock();
    await eventually(() => pool.idleCount === pool.totalCount, { what: "the connection is given back" });
    expect(await store.find(id)).toBeNull();
    expect(await store.claim(id, request())).toMatchObject({ state: "claimed", attempt: 1 });
  });

  it("doesn't keep the connection after close", async () => {
    const id = unique();
    const unblock = await blockClaims(id);
    await unavailable(store.claim(id, request()));
    await store.close();
    expect(pool.totalCount - pool.idleCount).toBe(0);
    await unblock();
  });
});
