import { eventually, startRedis } from "@onceward/test-servers";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RedisClient, redisStore } from "../src/index.ts";
import { connect, connectNodeRedis, TEST_TIMEOUT_MS } from "./clients.ts";
import { bytes, claimed, HOUR_MS, unique } from "./helpers.ts";

const server = await startRedis();
const admin = new Redis(server.port);
afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

const subscribers = async () => String(await admin.client("LIST", "TYPE", "PUBSUB")).match(/^id=/gm)?.length ?? 0;
const channels = (prefix: string) => admin.pubsub("CHANNELS", `${prefix}wake:*`) as Promise<string[]>;
const never = () => new AbortController().signal;

describe.each(["ioredis", "node-redis"])("waiting with %s", (name) => {
  const prefix = `${name}:`;
  let client: RedisClient;
  let close: () => void;
  beforeAll(async () => {
    if (name === "ioredis") {
      const redis = new Redis(server.port);
      [client, close] = [redis, () => redis.disconnect()];
    } else {
      const redis = await connectNodeRedis(server.port);
      [client, close] = [redis, () => redis.destroy()];
    }
    return close;
  });
  const open = () => redisStore({ client, prefix, timeoutMs: TEST_TIMEOUT_MS });

  it("takes one subscription for all that wait on an instance, and none while nobody has waited", async () => {
    const store = open();
    const runs = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const id = unique();
        return { id, ...(await claimed(store, id)) };
      }),
    );
    expect([await subscribers(), await channels(prefix)]).toEqual([0, []]);
    const watches = runs.flatMap(({ id, fence }) => [
      store.watch(id, fence, never()),
      store.watch(id, fence, never()),
      store.watch(id, fence, never()),
    ]);
    const marked = async () =>
      (await Promise.all(runs.map(({ id }) => admin.get(`${prefix}{${id}}`)))).every(isWatched);
    await eventually(marked, { what: "every record says whom to wake" });
    const [channel] = await channels(prefix);
    expect(await admin.pubsub("NUMSUB", String(channel))).toEqual([channel, 1]);
    expect([await subscribers(), (await channels(prefix)).length]).toEqual([1, 1]);
    await Promise.all(runs.map(({ id, token }) => store.complete(id, token, bytes("done"), HOUR_MS)));
    await Promise.all(watches);
    await store.close();
    await eventually(async () => (await subscribers()) === 0, { what: "close ends the subscription" });
  });

  it("wakes by a push, for which the server is not asked again and again", async () => {
    const [store, other] = [open(), open()];
    const id = unique();
    const { token, fence } = await claimed(store, id);
    const watch = other.watch(id, fence, never());
    await eventually(async () => isWatched(await admin.get(`${prefix}{${id}}`)), { what: "the watch is noted" });
    await admin.config("RESETSTAT");
    await store.complete(id, token, bytes("done"), HOUR_MS);
    await watch;
    const stats = await admin.info("commandstats");
    expect([/cmdstat_publish:calls=1,/.test(stats), /cmdstat_evalsha:calls=1,/.test(stats)]).toEqual([true, true]);
    await Promise.all([store.close(), other.close()]);
  });

  it("publishes nothing about records that nobody waits for", async () => {
    const store = open();
    await admin.config("RESETSTAT");
    const id = unique();
    const { token } = await claimed(store, id);
    await store.complete(id, token, bytes("done"), HOUR_MS);
    expect(await admin.info("commandstats")).not.toContain("cmdstat_publish");
    await store.close();
  });

  it("ends watches when the subscription is lost, and restores it for the next", async () => {
    const store = open();
    const id = unique();
    const { token, fence } = await claimed(store, id);
    const watch = store.watch(id, fence, never());
    await eventually(async () => (await subscribers()) === 1, { what: "the store listens" });
    for (let round = 0; round < 3; round += 1) {
      await eventually(async () => Number(await admin.client("KILL", "TYPE", "pubsub")) > 0, { what: "it is cut off" });
      await watch;
      await eventually(async () => (await subscribers()) === 1, { what: "the store listens again" });
    }
    // Woken by the restoration at the latest, so look again until it is the completion that ends it.
    let completing: Promise<boolean> | undefined;
    while ((await store.find(id))?.state === "running") {
      const next = store.watch(id, fence, never());
      completing ??= store.complete(id, token, bytes("done"), HOUR_MS);
      await next;
    }
    expect(await completing).toBe(true);
    await store.close();
  });

  it("misses no completion that comes while the subscription is lost", async () => {
    const store = open();
    const runs = await Promise.all(Array.from({ length: 20 }, async () => ({ id: unique() })));
    await Promise.all(
      runs.map(async ({ id }, index) => {
        const { token, fence } = await claimed(store, id);
        const watch = store.watch(id, fence, never());
        if (index % 5 === 0) await admin.client("KILL", "TYPE", "pubsub");
        await store.complete(id, token, bytes("done"), HOUR_MS);
        await watch;
      }),
    );
    await store.close();
  });

  it("leaves the caller's client open when it is closed, with watches under way", async () => {
    const [store, other] = [open(), open()];
    const id = unique();
    const { fence } = await claimed(store, id);
    const watch = store.watch(id, fence, never());
    await eventually(async () => (await subscribers()) === 1, { what: "the store listens" });
    await store.close();
    await watch;
    await eventually(async () => (await subscribers()) === 0, { what: "its own connection is closed" });
    await other.ping();
    await other.close();
  });

  it("ends with the caller's client, and begins again with it", async () => {
    const store = open();
    const id = unique();
    const { token, fence } = await claimed(store, id);
    const watch = store.watch(id, fence, never());
    await eventually(async () => (await subscribers()) === 1, { what: "the store listens" });
    close();
    await watch;
    await eventually(async () => (await subscribers()) === 0, { what: "nothing keeps the process alive" });
    await (client as Redis).connect();
    const again = store.watch(id, fence, never());
    await eventually(async () => (await subscribers()) === 1, { what: "the store listens again" });
    await store.complete(id, token, bytes("done"), HOUR_MS);
    await again;
    await store.close();
    expect((client as Redis).listenerCount("end")).toBe(0);
  });
});

it("resolves or rejects every watch when the server goes away for good", async () => {
  const mortal = await startRedis();
  const store = redisStore({ client: connect(mortal.port), timeoutMs: TEST_TIMEOUT_MS });
  const runs = await Promise.all(Array.from({ length: 10 }, async () => ({ id: unique() })));
  const watches = await Promise.all(
    runs.map(async ({ id }) => ({ watch: store.watch(id, (await claimed(store, id)).fence, never()) })),
  );
  await mortal.stop();
  await Promise.allSettled(watches.map(({ watch }) => watch));
  await Promise.allSettled([store.watch(unique(), 1, never())]);
  await store.close();
});

function isWatched(record: string | null): boolean {
  return record?.startsWith("R-w") === true;
}
