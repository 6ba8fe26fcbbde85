import type { StoreEvent } from "@onceward/core";
import { eventually, type RedisOptions, startRedis } from "@onceward/test-servers";
import { type RedisOptions as ClientOptions, Redis } from "ioredis";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { type RedisClient, redisStore } from "../src/index.ts";
import { connect, connectNodeRedis } from "./clients.ts";
import { bytes, claimed, completed, expectUnavailable, HOUR_MS, replayed, request, unique } from "./helpers.ts";

const master = await startRedis();
const replica = await startRedis({ replicaOf: master });
await eventually(async () => String(await master.command("INFO", "replication")).includes("state=online"), {
  what: "the replica follows",
});
const first = new Redis(master.port);
await eventually(async () => Number((await first.pipeline().set("first", "1").wait(1, 1_000).exec())?.[1]?.[1]) === 1, {
  what: "the replica confirms",
});
first.disconnect();
afterAll(() => Promise.all([master.stop(), replica.stop()]));

describe.each(["ioredis", "node-redis"])("waitReplicas with %s", (name) => {
  const open = async () => {
    let client: RedisClient;
    if (name === "ioredis") client = connect(master.port);
    else {
      const nodeRedis = await connectNodeRedis(master.port);
      onTestFinished(() => nodeRedis.destroy());
      client = nodeRedis;
    }
    return redisStore({ client, waitReplicas: { count: 1, timeoutMs: 300 } });
  };

  it("answers when the replica has claim and outcome", async () => {
    const store = await open();
    const onReplica = redisStore({ client: connect(replica.port) });
    const id = unique();
    const { token } = await claimed(store, id);
    expect(await onReplica.find(id)).toMatchObject({ state: "running", token });
    expect(await store.complete(id, token, bytes("done"), HOUR_MS)).toBe(true);
    expect(await onReplica.find(id)).toMatchObject({ state: "completed" });
    expect(await replayed(store, id)).toBe("done");
  });

  it("with the replica paused: claims fail and are released, outcomes fail and stay, replays go on", async () => {
    const store = await open();
    const [done, running, wanted] = [unique(), unique(), unique()];
    await completed(store, done);
    const { token } = await claimed(store, running);
    await replica.pause();
    try {
      const claim = store.claim(wanted, request());
      await expectUnavailable(claim);
      await expect(claim).rejects.toThrow("0 replicas of 1 (waitReplicas) confirmed the write within 300 ms");
      await expectUnavailable(store.complete(running, token, bytes("outcome"), HOUR_MS));
      await expectUnavailable(
        store.renew(running, unique(), HOUR_MS).then(() => store.complete(running, token, bytes("again"), HOUR_MS)),
      );
      expect(await replayed(store, done)).toBe("done");
      await eventually(async () => (await store.find(wanted)) === null, { what: "the claim is released" });
    } finally {
      await replica.resume();
    }
    const confirmed = () => store.complete(running, token, bytes("repeated"), HOUR_MS);
    expect(await eventually(confirmed, { what: "the replica follows again" })).toBe(true);
    expect(await replayed(store, running)).toBe("outcome");
    expect(await claimed(store, wanted)).toMatchObject({ attempt: 1 });
  });

  it("runs scripts that the server has forgotten, and waits for those too", async () => {
    const store = await open();
    await master.command("SCRIPT", "FLUSH");
    const id = unique();
    await completed(store, id);
    expect(await redisStore({ client: connect(replica.port) }).find(id)).toMatchObject({ state: "completed" });
  });
});

describe("warnings", () => {
  const warningsOf = async (options: RedisOptions, user?: ClientOptions) => {
    const server = await startRedis(options);
    onTestFinished(() => server.stop());
    const store = redisStore({ client: connect(server.port, user) });
    const events: StoreEvent[] = [];
    store.onEvent((event) => events.push(event));
    store.onEvent((event) => events.push(event));
    // Asked for in this order, so answered by then.
    await store.ping();
    await new Promise((resolve) => setImmediate(resolve));
    await store.close();
    return events.map((event) => (event.type === "store-warning" ? event.code : event.type));
  };
  const twice = (code: string) => [code, code];

  it("none where records are kept", async () => {
    expect(await warningsOf({ persistence: "appendonly" })).toEqual([]);
    expect(await warningsOf({ config: ["save 60 1"] })).toEqual([]);
  });

  it("when records may be evicted", async () => {
    const config = ["maxmemory-policy allkeys-lru"];
    expect(await warningsOf({ persistence: "appendonly", maxmemory: "50mb", config })).toEqual(twice("redis-eviction"));
  });

  it("when nothing is on disk", async () => {
    expect(await warningsOf({})).toEqual(twice("redis-persistence"));
  });

  it("none about what the user may not see", async () => {
    const users = [{ name: "app", password: "app", rules: "~* &* +@all -info -config" }];
    expect(await warningsOf({ users }, { username: "app", password: "app", enableReadyCheck: false })).toEqual([]);
  });
});
