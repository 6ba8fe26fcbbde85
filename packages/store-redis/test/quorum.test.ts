import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import { StoreUnavailableError } from "@onceward/core";
import { eventually, type RedisServer, startRedis } from "@onceward/test-servers";
import type { Redis } from "ioredis";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { type RedisStore, redisQuorumStore } from "../src/index.ts";
import { connect } from "./clients.ts";
import {
  bytes,
  claimed,
  completed,
  everyCall,
  expectUnavailable,
  HOUR_MS,
  replayed,
  request,
  unique,
} from "./helpers.ts";
import { startLoad } from "./load.ts";

const servers = await Promise.all([startRedis(), startRedis(), startRedis()]);
type Three<T> = readonly [T, T, T];
const [first, second, third] = servers as unknown as Three<RedisServer>;
afterAll(() => Promise.all(servers.map((server) => server.stop())));

/** Two instances of an application, each with connections of its own, on a prefix of their own. */
function instances() {
  const prefix = `${randomUUID()}:`;
  const clients = [0, 1].map(() => servers.map(({ port }) => connect(port)));
  const [store, other] = clients.map((each) => redisQuorumStore({ clients: each, prefix }));
  return {
    stores: [store, other] as readonly [RedisStore, RedisStore],
    /** One that gives up soon. */
    impatient: () => redisQuorumStore({ clients: clients[0] as Redis[], prefix, timeoutMs: 300 }),
    prefix,
    clients: clients.flat(),
    /** Unlike a paused server, one that is cut off never gets what was sent to it in the meantime. */
    cutOff: (index: number) => {
      for (const each of clients) each[index]?.disconnect();
    },
    reconnect: async (index: number) => {
      await Promise.all(clients.map((each) => each[index]?.connect()));
    },
  };
}

afterEach(async () => {
  for (const server of servers) {
    if (server.pid === undefined) await server.restart();
    await server.resume();
  }
});

/** Ways to lose a server, and to get it back. */
const losses = {
  killed: { lose: (server: RedisServer) => server.kill(), back: (server: RedisServer) => server.restart() },
  paused: { lose: (server: RedisServer) => server.pause(), back: (server: RedisServer) => server.resume() },
  "restarted empty": { lose: (server: RedisServer) => server.restart({ empty: true }), back: async () => {} },
};

describe.each(Object.entries(losses))("one of three %s", (_how, { lose, back }) => {
  it.each([0, 1, 2])("loses nothing and runs nothing twice: server %i", async (index) => {
    const [[store, other], server] = [instances().stores, servers[index] as RedisServer];
    const [done, running, stepped, released, gone] = [unique(), unique(), unique(), unique(), unique()] as const;
    await completed(store, done, "kept");
    const { token, fence } = await claimed(store, running);
    const before = await claimed(store, stepped);
    await store.saveStep(stepped, before.token, "step", bytes("1"));
    await store.release(stepped, before.token);
    await store.release(released, (await claimed(store, released)).token);
    const removed = await completed(store, gone);
    await store.remove(gone);

    await lose(server);
    expect(await replayed(other, done)).toBe("kept");
    expect(await other.find(done)).toMatchObject({ state: "completed", outcome: Buffer.from("kept") });
    expect(await other.claim(running, request())).toMatchObject({ state: "running", fence });
    expect(await other.renew(running, token, HOUR_MS)).toBe(true);
    expect(await store.complete(running, token, bytes("completed"), HOUR_MS)).toBe(true);
    expect(await replayed(other, running)).toBe("completed");
    const next = await claimed(other, stepped);
    expect(next.attempt).toBe(2);
    expect([...(next.steps ?? [])]).toEqual([["step", Buffer.from("1")]]);
    expect(next.fence).toBeGreaterThan(before.fence);
    expect(await claimed(other, released)).toMatchObject({ attempt: 1 });
    expect((await claimed(other, gone)).fence).toBeGreaterThan(removed.fence);

    await back(server);
    expect(await replayed(store, running)).toBe("completed");
    expect(await store.claim(stepped, request())).toMatchObject({ state: "running", fence: next.fence });
    expect(await store.complete(stepped, next.token, bytes("stepped"), HOUR_MS)).toBe(true);
    expect(await replayed(other, stepped)).toBe("stepped");
  });

  it("in the midst of a load: nothing runs twice, no confirmed outcome is lost, and all goes on", async () => {
    const { stores } = instances();
    const load = startLoad(stores, unique);
    await load.more(50);
    await lose(second);
    await load.more(50);
    await back(second);
    await load.more(50);
    expect(await load.stop()).toEqual([]);
  });
});

describe("one after the other", () => {
  it("all three lose their memory in turn, and nothing is forgotten", async () => {
    const { stores } = instances();
    const load = startLoad(stores, unique);
    const done = unique();
    await completed(stores[0], done, "first");
    for (const server of servers) {
      await load.more(20);
      await server.restart({ empty: true });
      await load.more(20);
      // Admitted again, it has all that the others have, before the next one goes.
      await eventually(async () => Number(await server.command("DBSIZE")) >= load.completed(), {
        what: "it has it all",
      });
    }
    await load.stop();
    expect(await replayed(stores[1], done)).toBe("first");
  });

  it("what a server missed while it was away is settled, though another is away then", async () => {
    const { stores, cutOff, reconnect } = instances();
    const [store, other] = stores;
    const id = unique();
    const { token, fence } = await claimed(store, id, { leaseMs: 100 });
    cutOff(2);
    await eventually(async () => (await other.find(id))?.state === "abandoned", { what: "the lease is over" });
    const next = await claimed(other, id);
    expect(next).toMatchObject({ attempt: 2, takenOver: true });
    expect(next.fence).toBeGreaterThan(fence);
    await reconnect(2);
    cutOff(0);
    // The third still holds the first claim; the second, the takeover.
    expect(await other.renew(id, next.token, HOUR_MS)).toBe(true);
    expect(await store.complete(id, token, bytes("stale"), HOUR_MS)).toBe(false);
    expect(await store.claim(id, request())).toMatchObject({ state: "running", fence: next.fence });
    expect(await other.complete(id, next.token, bytes("done"), HOUR_MS)).toBe(true);
    await reconnect(0);
    expect(await replayed(store, id)).toBe("done");
  });

  it("an outcome that a server missed is replayed, though one that has it is away", async () => {
    const { stores, cutOff, reconnect } = instances();
    const [store, other] = stores;
    const [id, whole] = [unique(), unique()];
    const { token } = await claimed(store, id);
    cutOff(2);
    await store.complete(id, token, bytes("missed"), HOUR_MS);
    await completed(store, whole, "missed from the start");
    await reconnect(2);
    cutOff(0);
    expect(await replayed(other, id)).toBe("missed");
    expect(await replayed(other, whole)).toBe("missed from the start");
    // And now the third has it too.
    await reconnect(0);
    cutOff(1);
    expect(await replayed(store, id)).toBe("missed");
    expect(await replayed(store, whole)).toBe("missed from the start");
    await reconnect(1);
  });

  it("what is no longer found can be claimed at once, to the microsecond", async () => {
    const [store, other] = instances().stores;
    for (let round = 0; round < 50; round += 1) {
      const id = unique();
      await store.complete(id, (await claimed(store, id)).token, bytes("brief"), 1);
      await eventually(async () => (await other.find(id)) === null, { what: "it expires", intervalMs: 0 });
      await claimed(other, id);
      expect(await store.find(id)).toMatchObject({ state: "running" });
    }
  });

  it("what has expired for a majority is gone, also where it arrived so late that it has time left", async () => {
    const [store, other] = instances().stores;
    const id = unique();
    const { token } = await claimed(store, id);
    await third.pause();
    expect(await store.complete(id, token, bytes("brief"), 500)).toBe(true);
    await eventually(async () => (await other.find(id)) === null, { what: "it expires" });
    await third.resume();
    expect(await other.claim(id, request())).toMatchObject({ state: "claimed" });
  });

  it("what has expired on a server that missed the next claim does not come back", async () => {
    const { stores, cutOff, reconnect } = instances();
    const [store, other] = stores;
    const id = unique();
    const { token } = await claimed(store, id);
    await store.complete(id, token, bytes("old"), 50);
    cutOff(2);
    await eventually(async () => (await other.find(id)) === null, { what: "it expires" });
    const next = await claimed(other, id);
    await reconnect(2);
    cutOff(0);
    expect(await store.find(id)).toMatchObject({ state: "running", fence: next.fence });
    expect(await other.renew(id, next.token, HOUR_MS)).toBe(true);
    expect(await other.complete(id, next.token, bytes("new"), HOUR_MS)).toBe(true);
    await reconnect(0);
    expect(await replayed(store, id)).toBe("new");
  });
});

describe("a majority lost", () => {
  it.each(["killed", "paused"] as const)(
    "fails closed when two are %s, and works again when they are back",
    async (how) => {
      const { stores, impatient } = instances();
      const [done, id] = [unique(), unique()];
      await completed(stores[0], done);
      const store = impatient();
      await Promise.all([losses[how].lose(first), losses[how].lose(second)]);
      await Promise.all(
        [...everyCall(store), store.claim(id, request()), store.claim(done, request())].map(expectUnavailable),
      );
      await Promise.all([losses[how].back(first), losses[how].back(second)]);
      await eventually(async () => (await replayed(store, done)) === "done", { what: "the same store works again" });
      await eventually(async () => (await store.claim(id, request())).state === "claimed", { what: "nobody holds it" });
    },
  );

  it("a server without memory has no say while the others can't be heard", async () => {
    const { stores, impatient } = instances();
    const done = unique();
    await completed(stores[0], done);
    const store = impatient();
    await third.pause();
    await first.restart({ empty: true });
    await expectUnavailable(store.claim(done, request()));
    await third.resume();
    await eventually(() => replayed(store, done).then(() => true), { what: "the outcome can be read again" });
  });

  it("more memory lost than the quorum can bear is said aloud", async () => {
    const { stores } = instances();
    const codes: string[] = [];
    stores[0].onEvent((event) => event.type === "store-warning" && codes.push(event.code));
    await completed(stores[0], unique());
    await Promise.all([first.restart({ empty: true }), second.restart({ empty: true })]);
    await eventually(() => claimed(stores[0], unique()).then(() => true), { what: "it works" });
    expect(codes).toContain("redis-quorum-memory");
  });
});

it("a claim that a paused server executes late disturbs nobody", async () => {
  const { stores, prefix } = instances();
  const [store, other] = stores;
  await completed(store, unique());
  await completed(other, unique());
  const id = unique();
  await third.pause();
  const early = await claimed(store, id);
  await store.release(id, early.token);
  const later = await claimed(other, id);
  await third.resume();
  await eventually(async () => (await third.command("GET", `${prefix}{${id}}`)) !== null, { what: "it has arrived" });
  await first.pause();
  // Two that differ: what is left of the early claim, and the later one.
  expect(await store.claim(id, request())).toMatchObject({ state: "running", fence: later.fence });
  expect(await other.renew(id, later.token, HOUR_MS)).toBe(true);
  expect(await other.complete(id, later.token, bytes("done"), HOUR_MS)).toBe(true);
  expect(await replayed(store, id)).toBe("done");
});

it("closing leaves the callers' clients open", async () => {
  const { stores, clients } = instances();
  await completed(stores[0], unique());
  await stores[0].close();
  expect(await Promise.all(clients.map((client) => client.ping()))).toEqual(clients.map(() => "PONG"));
  await expect(stores[0].ping()).rejects.not.toThrow(StoreUnavailableError);
});
