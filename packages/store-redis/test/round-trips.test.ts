import { StoreUnavailableError } from "@onceward/core";
import { countingProxy, startRedis } from "@onceward/test-servers";
import { Redis } from "ioredis";
import { Redis as Redis6 } from "ioredis-6";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { type RedisClient, redisStore } from "../src/index.ts";
import { connectNodeRedis } from "./clients.ts";
import { bytes, claimed, completed, HOUR_MS, replayed, request, unique } from "./helpers.ts";

const server = await startRedis();
const proxy = await countingProxy(server.port);
const admin = new Redis(server.port);
const options = { host: "127.0.0.1", port: proxy.port };
const nodeRedis = await connectNodeRedis(proxy.port);
const clients = { "ioredis 5": new Redis(options), "ioredis 6": new Redis6(options), "node-redis": nodeRedis };
for (const client of [clients["ioredis 5"], clients["ioredis 6"]]) client.on("error", () => {});

afterAll(async () => {
  admin.disconnect();
  clients["ioredis 5"].disconnect();
  clients["ioredis 6"].disconnect();
  nodeRedis.destroy();
  await proxy.close();
  await server.stop();
});

/** What the server has executed since the last reset, for clients and within scripts, but for our own questions. */
async function commands(): Promise<Record<string, number>> {
  const stats = await admin.info("commandstats");
  const calls = [...stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(([, name, count]) => [name, Number(count)]);
  return Object.fromEntries(calls.filter(([name]) => !/^(info|config|time)/.test(String(name))));
}
/** Beside those, scripts read and write the record once each. */
const NEW = { evalsha: 2, get: 2, set: 2 };

describe.each(Object.entries(clients) as [string, RedisClient][])("%s", (_name, client) => {
  const store = redisStore({ client });
  beforeEach(async () => {
    // Every script is known, and the connection open.
    const id = unique();
    await completed(store, id);
    await claimed(store, unique(), { leaseMs: 1 });
    await admin.config("RESETSTAT");
    proxy.resetCounts();
  });

  it("takes two round trips for a new request, and one for a replay", async () => {
    const id = unique();
    await completed(store, id);
    expect([await commands(), proxy.counts.roundTrips]).toEqual([NEW, 2]);
    expect(await replayed(store, id)).toBe("done");
    expect([await commands(), proxy.counts.roundTrips]).toEqual([{ ...NEW, evalsha: 3, get: 3 }, 3]);
  });

  it("takes an expired lease over in one round trip", async () => {
    const id = unique();
    const { fence } = await claimed(store, id, { leaseMs: 1 });
    await expect.poll(async () => (await store.find(id))?.state).toBe("abandoned");
    await admin.config("RESETSTAT");
    proxy.resetCounts();
    const next = await claimed(store, id);
    expect(next).toMatchObject({ attempt: 2, takenOver: true });
    expect(next.fence).toBeGreaterThan(fence);
    expect([await commands(), proxy.counts.roundTrips]).toEqual([{ evalsha: 1, get: 1, set: 1 }, 1]);
  });

  it("takes one round trip for each of renew, saveStep, release, find and remove", async () => {
    const [id, token] = [unique(), unique()];
    const trips = async (call: Promise<unknown>) => {
      proxy.resetCounts();
      await call;
      return proxy.counts.roundTrips;
    };
    // Once to make the scripts known.
    for (const round of ["first", "counted"]) {
      await store.claim(id, request({ token }));
      const counted = [
        await trips(store.renew(id, token, HOUR_MS)),
        await trips(store.saveStep(id, token, "step", bytes("1"))),
        await trips(store.find(id)),
        await trips(store.release(id, token)),
        await trips(store.remove(id)),
      ];
      if (round === "counted") expect(counted).toEqual([1, 1, 1, 1, 1]);
    }
  });

  it("sends a script's text only when the server has forgotten it, and goes on", async () => {
    const id = unique();
    await admin.script("FLUSH");
    await admin.config("RESETSTAT");
    await completed(store, id);
    // EVALSHA and then EVAL, for each of the two.
    expect(await commands()).toEqual({ evalsha: 2, eval: 2, get: 2, set: 2 });
    expect(await replayed(store, id)).toBe("done");
    expect(await commands()).toEqual({ evalsha: 3, eval: 2, get: 3, set: 2 });
  });

  it("sends nothing again after any other error", async () => {
    const id = unique();
    await admin.lpush(`onceward:{${id}}`, "a list");
    await expect(store.claim(id, request())).rejects.toThrow("WRONGTYPE");
    expect(await commands()).toEqual({ lpush: 1, evalsha: 1, get: 1 });
  });

  it("finds its own claim after a lost reply", async () => {
    const [id, token] = [unique(), unique()];
    const lost = proxy.loseNextReply((chunk) => chunk.includes(token));
    // ioredis sends it again by itself; with node-redis the store is told, gives it up, and releases it.
    const first = store.claim(id, request({ token })).catch((error: unknown) => error);
    await lost;
    expect(await first).toSatisfy((result) => result instanceof StoreUnavailableError || result.state === "claimed");
    expect(await claimed(store, id, { token })).toMatchObject({ attempt: 1, takenOver: false });
    expect(await store.claim(id, request())).toMatchObject({ state: "running" });
  });
});
