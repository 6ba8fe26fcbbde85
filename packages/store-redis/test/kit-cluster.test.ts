import { startRedisCluster } from "@onceward/test-servers";
import { testStore } from "@onceward/testkit";
import { Cluster } from "ioredis";
import { afterAll } from "vitest";
import { redisStore } from "../src/index.ts";
import { TEST_TIMEOUT_MS } from "./clients.ts";

const cluster = await startRedisCluster();
const nodes = cluster.nodes.map(({ host, port }) => ({ host, port }));
const client = new Cluster(nodes, { clusterRetryStrategy: () => 20 });
client.on("error", () => {});

afterAll(async () => {
  client.disconnect();
  await cluster.stop();
});

testStore({
  name: "redisStore on a Cluster of three masters",
  create: () => redisStore({ client, prefix: "kit:", timeoutMs: TEST_TIMEOUT_MS }),
  inspect: async (id) => {
    const expiresInMs = await client.pttl(`kit:{${id}}`);
    return expiresInMs === -2 ? null : { expiresInMs: expiresInMs < 0 ? null : expiresInMs };
  },
  outage: {
    begin: async () => {
      await Promise.all(cluster.nodes.map((node) => node.pause()));
    },
    end: async () => {
      await Promise.all(cluster.nodes.map((node) => node.resume()));
      await cluster.healthy();
    },
  },
});
