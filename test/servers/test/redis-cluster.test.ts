import { Cluster } from "ioredis";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RedisCluster, type RedisClusterNode, startRedisCluster } from "../src/index.ts";

let cluster: RedisCluster;
let client: Cluster;
beforeAll(async () => {
  cluster = await startRedisCluster({ masters: 3, replicas: 1 });
  client = new Cluster(cluster.nodes.map(({ host, port }) => ({ host, port })));
});
afterAll(async () => {
  client?.disconnect();
  await cluster?.stop();
});

it("spreads all slots over three masters, each with a replica", async () => {
  const owners = await Promise.all([0, 8_192, 16_383].map((slot) => cluster.ownerOf(slot)));
  expect(new Set(owners)).toEqual(new Set(cluster.nodes.slice(0, 3)));
  const roles = await Promise.all(cluster.nodes.map(async (node) => String(await node.command("ROLE")).split(",")[0]));
  expect(roles).toEqual(["master", "master", "master", "slave", "slave", "slave"]);
  for (const key of ["a", "b", "c", "d"]) expect(await client.set(key, key)).toBe("OK");
});

it("migrates a slot while clients use it", async () => {
  const slot = await cluster.slotOf("{moving}");
  const from = await cluster.ownerOf(slot);
  const to = cluster.nodes.slice(0, 3).find((node) => node !== from)!;
  const keys = Array.from({ length: 30 }, (_, index) => `{moving}:${index}`);
  for (const key of keys) await client.set(key, key);
  const countAt = (node: RedisClusterNode) => node.command("CLUSTER", "COUNTKEYSINSLOT", slot);
  await cluster.migrateSlot(slot, from, to, async () => {
    expect([await countAt(from), await countAt(to)]).toEqual([20, 10]);
    await expect(from.command("GET", "{moving}:new")).rejects.toThrow(`ASK ${slot}`);
    for (const key of keys) expect(await client.get(key)).toBe(key);
    await client.set("{moving}:new", "new");
  });
  expect(await cluster.ownerOf(slot)).toBe(to);
  expect([await countAt(from), await countAt(to)]).toEqual([0, 31]);
  await expect(from.command("GET", "{moving}:0")).rejects.toThrow(`MOVED ${slot}`);
  expect(await client.get("{moving}:new")).toBe("new");
});

it("fails over in agreement, and after a crash", async () => {
  const slot = await cluster.slotOf("key");
  const first = await cluster.ownerOf(slot);
  await first.command("SET", "key", "value");
  expect(await first.command("WAIT", 1, 5_000)).toBe(1);
  const second = await cluster.failover(first);
  expect(second).not.toBe(first);
  expect(await second.command("GET", "key")).toBe("value");
  expect(await cluster.failover(second, { crash: true })).toBe(first);
  expect(second.pid).toBeUndefined();
  expect(await cluster.ownerOf(slot)).toBe(first);
  expect(await client.get("key")).toBe("value");
});
