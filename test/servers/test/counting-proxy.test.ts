import { Redis } from "ioredis";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  type CountingProxy,
  countingProxy,
  eventually,
  freePort,
  type PostgresServer,
  type RedisServer,
  startPostgres,
  startRedis,
} from "../src/index.ts";

let redis: RedisServer;
let postgres: PostgresServer;
beforeAll(async () => {
  [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
});
afterAll(() => Promise.all([redis?.stop(), postgres?.stop()]));

describe("a proxy before Redis", () => {
  let proxy: CountingProxy;
  let client: Redis;
  const connect = (options = {}) => {
    const created = new Redis(proxy.through(redis.url), { retryStrategy: () => null, ...options });
    created.on("error", () => undefined); // The calls reject.
    return created;
  };
  beforeEach(async () => {
    await redis.command("FLUSHALL");
    proxy = await countingProxy(redis.port);
    client = connect({ maxRetriesPerRequest: 0 });
    await client.ping();
    proxy.resetCounts();
  });
  afterEach(async () => {
    client.disconnect();
    await proxy.close();
  });

  it("counts connections, bytes and round trips, a pipeline as one", async () => {
    await client.ping();
    expect(proxy.counts).toEqual({
      connections: 0,
      roundTrips: 1,
      bytesToServer: "*1\r\n$4\r\nping\r\n".length,
      bytesToClient: "+PONG\r\n".length,
    });
    await client.pipeline().set("a", 1).set("b", 2).exec();
    expect(proxy.counts.roundTrips).toBe(2);
    const another = connect();
    await another.ping();
    expect(proxy.counts.connections).toBe(1);
    another.disconnect();
  });

  it("passes large values on unharmed", async () => {
    const value = Buffer.alloc(3 * 1024 * 1024, "onceward");
    await client.set("large", value);
    expect(value.equals((await client.getBuffer("large")) as Buffer)).toBe(true);
    expect(proxy.counts.roundTrips).toBe(2);
  });

  it("drops open connections, and serves new ones", async () => {
    const closed = new Promise((resolve) => client.once("end", resolve));
    proxy.drop();
    await closed;
    const next = connect();
    expect(await next.ping()).toBe("PONG");
    next.disconnect();
  });

  it("swallows everything as a black hole, until restored", async () => {
    proxy.blackhole();
    const late = connect();
    const answered: string[] = [];
    const lost = [client, late].map((each) =>
      each.incr("counter").then(
        () => answered.push("answer"),
        () => "cut",
      ),
    );
    await new Promise((resolve) => late.once("connect", resolve));
    expect(await redis.command("GET", "counter")).toBeNull();
    expect(answered).toEqual([]);
    expect(proxy.counts.bytesToClient).toBe(0);
    proxy.restore();
    expect(await Promise.all(lost)).toEqual(["cut", "cut"]);
    const next = connect();
    expect(await next.incr("counter")).toBe(1);
    next.disconnect();
    late.disconnect();
  });

  it("loses the reply of the next request that matches, after the server did the work", async () => {
    const lost = proxy.loseNextReply((request) => request.includes("incr"));
    await client.set("other", "unharmed");
    await expect(client.incr("counter")).rejects.toThrow();
    await lost;
    expect(await redis.command("GET", "counter")).toBe("1");
    const next = connect();
    expect(await next.incr("counter")).toBe(2);
    next.disconnect();
  });

  it("delays replies, in their order when the delay changes", async () => {
    const order: string[] = [];
    const direct = new Redis(redis.url);
    proxy.delay(200);
    const slow = client.incr("counter").then((count) => order.push(`slow ${count}`));
    await eventually(async () => (await direct.get("counter")) === "1", { what: "the request arrives at once" });
    order.push("seen by another");
    proxy.delay(0);
    const next = client.incr("counter").then((count) => order.push(`next ${count}`));
    await Promise.all([slow, next]);
    expect(order).toEqual(["seen by another", "slow 1", "next 2"]);
    direct.disconnect();
  });

  it("looks refused when the target is down", async () => {
    const deaf = await countingProxy(await freePort());
    const nobody = new Redis(deaf.port, { retryStrategy: () => null, lazyConnect: true });
    nobody.on("error", () => undefined);
    await expect(nobody.ping()).rejects.toThrow();
    await deaf.close();
  });
});

it("loses the reply of a commit before Postgres", async () => {
  await postgres.query("create table notes (text text)");
  const proxy = await countingProxy(postgres.port);
  const client = new Client(proxy.through(postgres.url));
  client.on("error", () => undefined); // The call rejects.
  await client.connect();
  proxy.resetCounts();
  await client.query("select 1");
  expect(proxy.counts.roundTrips).toBe(1);
  const lost = proxy.loseNextReply();
  await expect(client.query("insert into notes values ('kept')")).rejects.toThrow();
  await lost;
  expect(await postgres.query("select text from notes")).toEqual([{ text: "kept" }]);
  await proxy.close();
});
