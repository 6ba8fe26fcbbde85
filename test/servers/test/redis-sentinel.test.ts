import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RedisSentinel, startRedisSentinel } from "../src/index.ts";

let group: RedisSentinel;
let client: Redis;
beforeAll(async () => {
  group = await startRedisSentinel({ sentinels: 3, replicas: 2, redis: { password: "secret" } });
  const sentinels = group.sentinels.map(({ host, port }) => ({ host, port }));
  client = new Redis({ sentinels, name: group.name, password: "secret", maxRetriesPerRequest: null });
  client.on("error", () => undefined); // It reconnects.
});
afterAll(async () => {
  client?.disconnect();
  await group?.stop();
});

it("leads clients to the master, and to the next one after a failover", async () => {
  const first = await group.master();
  expect(first).toBe(group.servers[0]);
  await client.set("key", "value");
  expect(await client.wait(2, 5_000)).toBe(2);

  const second = await group.failover();
  expect(second).not.toBe(first);
  expect(await client.get("key")).toBe("value");

  const third = await group.failover({ crash: true });
  expect(second.pid).toBeUndefined();
  expect(third).not.toBe(second);
  expect(await group.master()).toBe(third);
  expect(await client.get("key")).toBe("value");
});
