import { startRedis } from "@onceward/test-servers";
import { testStore } from "@onceward/testkit";
import { Redis } from "ioredis";
import { afterAll } from "vitest";
import { redisQuorumStore } from "../src/index.ts";
import { TEST_TIMEOUT_MS } from "./clients.ts";

const servers = await Promise.all([startRedis(), startRedis(), startRedis()]);
const clients = servers.map(({ port }) => new Redis({ host: "127.0.0.1", port, retryStrategy: () => 20 }));
for (const client of clients) client.on("error", () => {});

afterAll(async () => {
  for (const client of clients) client.disconnect();
  await Promise.all(servers.map((server) => server.stop()));
});

testStore({
  name: "redisQuorumStore on three servers",
  create: () => redisQuorumStore({ clients, prefix: "kit:", timeoutMs: TEST_TIMEOUT_MS }),
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
