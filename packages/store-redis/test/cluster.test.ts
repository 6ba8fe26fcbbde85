import { eventually, type RedisClusterNode, startRedisCluster } from "@onceward/test-servers";
import { testStore } from "@onceward/testkit";
import { Cluster } from "ioredis";
import { Cluster as Cluster6 } from "ioredis-6";
import { afterAll, describe, expect, it } from "vitest";
import { redisStore } from "../src/index.ts";
import { connect, TEST_TIMEOUT_MS } from "./clients.ts";
import { bytes, claimed, completed, expectRejected, HOUR_MS, replayed, request, unique } from "./helpers.ts";
import { startLoad } from "./load.ts";

const cluster = await startRedisCluster({ replicas: 1 });
const nodes = cluster.nodes.map(({ host, port }) => ({ host, port }));
const client = new Cluster(nodes, { clusterRetryStrategy: () => 20 });
const client6 = new Cluster6(nodes, { clusterRetryStrategy: () => 20 });
for (const each of [client, client6]) each.on("error", () => {});

afterAll(async () => {
  client.disconnect();
  client6.disconnect();
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

describe("in a Cluster", () => {
  const stores = [redisStore({ client }), redisStore({ client: client6 })] as const;
  const [store] = stores;

  it("records are spread over all masters, and each is one key", async () => {
    const ids = Array.from({ length: 60 }, unique);
    await Promise.all(
      ids.map(async (id) => {
        const { token } = await claimed(store, id);
        await store.saveStep(id, token, "step", bytes("1"));
      }),
    );
    const masters = client.nodes("master");
    const found = await Promise.all(masters.map((master) => master.keys("onceward:*")));
    expect(found.every((keys) => keys.length > 0)).toBe(true);
    expect(found.flat().length).toBe(60);
    const listed: string[] = [];
    for await (const { id } of store.list()) listed.push(id);
    expect(listed.sort()).toEqual(ids.sort());
    await Promise.all(ids.map((id) => store.remove(id)));
  });

  it("a completion wakes waiters on other instances, whatever the node", async () => {
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const id = unique();
        const { token, fence } = await claimed(stores[0], id);
        const watch = stores[1].watch(id, fence, new AbortController().signal);
        await eventually(async () => (await client.get(`onceward:{${id}}`))?.startsWith("R-w"), { what: "it waits" });
        await stores[0].complete(id, token, bytes("done"), HOUR_MS);
        await watch;
      }),
    );
  });

  it("a client for single servers is told to be one for clusters", async () => {
    const single = redisStore({ client: connect((nodes[0] as { port: number }).port) });
    const calls = Array.from({ length: 20 }, () => single.claim(unique(), request()));
    const refused = (await Promise.allSettled(calls)).find(({ status }) => status === "rejected");
    await expectRejected(Promise.reject((refused as PromiseRejectedResult).reason), /new Cluster/);
  });

  it("a slot moves under the load: nothing runs twice, nothing is lost, nobody notices", async () => {
    const slot = slotOf(unique());
    const next = idsOf(slot);
    const before = await Promise.all(
      Array.from({ length: 30 }, async () => {
        const id = next();
        await completed(store, id, id);
        return id;
      }),
    );
    const stepped = next();
    const { token } = await claimed(store, stepped);
    await store.saveStep(stepped, token, "step", bytes("1"));
    const load = startLoad(stores, next);
    await load.more(20);
    const from = await cluster.ownerOf(slot);
    const to = cluster.nodes.slice(0, 3).find((node) => node !== from) as RedisClusterNode;
    await cluster.migrateSlot(slot, from, to, async () => {
      await load.more(20);
      for (const id of before) expect(await replayed(store, id)).toBe(id);
      expect(await store.saveStep(stepped, token, "another", bytes("2"))).toBe(true);
    });
    await load.more(20);
    expect(await load.stop()).toEqual([]);
    expect(await cluster.ownerOf(slot)).toBe(to);
    expect(await store.find(stepped)).toMatchObject({ steps: ["step", "another"] });
  });

  it("a master fails over under the load: nothing runs twice, nothing is lost", async () => {
    const load = startLoad(stores, unique);
    await load.more(50);
    const master = cluster.nodes[0] as RedisClusterNode;
    const promoted = await cluster.failover(master);
    expect(promoted).not.toBe(master);
    await load.more(50);
    await load.stop();
  });
});

/** The slot of a record: CRC16 (XMODEM) of its id. */
function slotOf(id: string): number {
  let crc = 0;
  for (const byte of Buffer.from(id)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc % 16_384;
}

/** Makes ids of records in one slot. */
function idsOf(slot: number): () => string {
  let count = 0;
  return () => {
    do count += 1;
    while (slotOf(`id-${count}`) !== slot);
    return `id-${count}`;
  };
}
