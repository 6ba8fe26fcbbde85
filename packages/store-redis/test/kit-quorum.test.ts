import { countingProxy, startRedis } from "@onceward/test-servers";
import { testStore } from "@onceward/testkit";
import { Redis } from "ioredis";
import { afterAll } from "vitest";
import { redisQuorumStore } from "../src/index.ts";
import { TEST_TIMEOUT_MS } from "./clients.ts";

const servers = await Promise.all([startRedis(), startRedis(), startRedis()]);
const proxies = await Promise.all(servers.map(({ port }) => countingProxy(port)));
const clients = proxies.map(({ port }) => new Redis({ host: "127.0.0.1", port, retryStrategy: () => 20 }));
for (const client of clients) client.on("error", () => {});
// The first to come makes the servers members, which is not what a busy machine must do in the first test's time.
await redisQuorumStore({ clients, prefix: "kit:", timeoutMs: 20_000 }).find("first");

afterAll(async () => {
  for (const client of clients) client.disconnect();
  await Promise.all(proxies.map((proxy) => proxy.close()));
  await Promise.all(servers.map((server) => server.stop()));
});

testStore({
  name: "redisQuorumStore on three servers",
  create: () => redisQuorumStore({ clients, prefix: "kit:", timeoutMs: 2 * TEST_TIMEOUT_MS }),
  // All servers are asked at the same time.
  roundTrips: () => Math.max(...proxies.map((proxy) => proxy.counts.roundTrips)),
  // A majority fails, one answers still.
  outage: {
    begin: async () => {
      await Promise.all(servers.slice(1).map((server) => server.pause()));
    },
    end: async () => {
      await Promise.all(servers.slice(1).map((server) => server.resume()));
    },
  },
});
