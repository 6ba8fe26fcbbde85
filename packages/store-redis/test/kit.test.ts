import { countingProxy, eventually, startRedis } from "@onceward/test-servers";
import { testStore } from "@onceward/testkit";
import { Redis } from "ioredis";
import { Redis as Redis6 } from "ioredis-6";
import { afterAll, it } from "vitest";
import { type RedisClient, redisStore } from "../src/index.ts";
import { connectNodeRedis, TEST_TIMEOUT_MS } from "./clients.ts";
import { bytes, claimed, unique } from "./helpers.ts";

const server = await startRedis();
const proxy = await countingProxy(server.port);
const admin = new Redis(server.port);
const options = { host: "127.0.0.1", port: proxy.port, retryStrategy: () => 20 };
const clients = { "ioredis 5": new Redis(options), "ioredis 6": new Redis6(options) };
const nodeRedis = await connectNodeRedis(proxy.port);
for (const client of Object.values(clients)) client.on("error", () => {});

afterAll(async () => {
  for (const client of [admin, ...Object.values(clients)]) client.disconnect();
  nodeRedis.destroy();
  await proxy.close();
  await server.stop();
});

const subjects: Readonly<Record<string, RedisClient>> = { ...clients, "node-redis 5": nodeRedis };
for (const [name, client] of Object.entries(subjects)) {
  const prefix = `kit:${name.replace(" ", "-")}:`;
  testStore({
    name: `redisStore on a single server, ${name}`,
    create: () => redisStore({ client, prefix, timeoutMs: TEST_TIMEOUT_MS }),
    inspect: async (id) => {
      const key = `${prefix}{${id}}`;
      const [bytes, expiresInMs] = [await admin.getBuffer(key), await admin.pttl(key)];
      return bytes && { bytes, expiresInMs: expiresInMs < 0 ? null : expiresInMs };
    },
    // Another connection must not be counted, and nor must the commands with which a client begins.
    roundTrips: () => proxy.counts.roundTrips,
    outage: { begin: () => server.pause(), end: () => server.resume() },
  });
}

it("what is no longer found can be claimed at once, also after the shortest TTL", async () => {
  const store = redisStore({ client: clients["ioredis 5"], timeoutMs: TEST_TIMEOUT_MS });
  for (let round = 0; round < 50; round += 1) {
    const id = unique();
    await store.complete(id, (await claimed(store, id)).token, bytes("brief"), 1);
    await eventually(async () => (await store.find(id)) === null, { what: "it expires", intervalMs: 0 });
    await claimed(store, id);
  }
  await store.close();
});
