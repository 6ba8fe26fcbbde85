import { startRedisSentinel } from "@onceward/test-servers";
import { testStore } from "@onceward/testkit";
import { Redis } from "ioredis";
import { afterAll, expect, it } from "vitest";
import { redisStore } from "../src/index.ts";
import { TEST_TIMEOUT_MS } from "./clients.ts";
import { unique } from "./helpers.ts";
import { startLoad } from "./load.ts";

const group = await startRedisSentinel({ sentinels: 1 });
const client = new Redis({
  sentinels: group.sentinels.map(({ host, port }) => ({ host, port })),
  name: group.name,
  retryStrategy: () => 20,
  sentinelRetryStrategy: () => 20,
});
client.on("error", () => {});

afterAll(async () => {
  client.disconnect();
  await group.stop();
});

testStore({
  name: "redisStore behind Sentinel",
  create: () => redisStore({ client, prefix: "kit:", timeoutMs: TEST_TIMEOUT_MS }),
  inspect: async (id) => {
    const expiresInMs = await client.pttl(`kit:{${id}}`);
    return expiresInMs === -2 ? null : { expiresInMs: expiresInMs < 0 ? null : expiresInMs };
  },
  // On a busy machine a pause may be long enough for a failover: then the former master must not stay paused.
  outage: {
    begin: async () => (await group.master()).pause(),
    end: async () => {
      await Promise.all(group.servers.map((server) => server.resume()));
    },
  },
});

it("with waitReplicas, a crash of the master loses nothing that was confirmed, and nothing runs twice", async () => {
  const store = redisStore({ client, timeoutMs: 1_000, waitReplicas: { count: 1, timeoutMs: 500 } });
  const load = startLoad([store], unique);
  await load.more(30);
  const master = await group.master();
  const promoted = await group.failover({ crash: true });
  expect(promoted).not.toBe(master);
  // The next replica, sooner than Sentinel would make it one.
  await master.restart();
  await master.command("REPLICAOF", promoted.host, promoted.port);
  await load.more(30);
  const errors = await load.stop();
  // The failover took a second at least, and was noticed.
  expect(errors.length).toBeGreaterThan(0);
});
