import { randomBytes } from "node:crypto";
import { eventually, type RedisOptions, type RedisServer, startRedis } from "@onceward/test-servers";
import { describe, expect, it, onTestFinished } from "vitest";
import { type RedisStoreOptions, redisStore } from "../src/index.ts";
import { connect, connectNodeRedis } from "./clients.ts";
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

const TIMEOUT_MS = 400;

async function start(options?: RedisOptions): Promise<RedisServer> {
  const server = await startRedis(options);
  onTestFinished(() => server.stop());
  return server;
}
const open = (client: RedisStoreOptions["client"]) => redisStore({ client, timeoutMs: TIMEOUT_MS });
const allUnavailable = async (store: ReturnType<typeof open>) => {
  await Promise.all(everyCall(store).map(expectUnavailable));
};
const worksAgain = (store: ReturnType<typeof open>) =>
  eventually(() => completed(store, unique()).then(() => true), { what: "the same store works again" });

describe.each(["ioredis", "node-redis"])("%s and a server that", (name) => {
  const clientOf = async (server: RedisServer) => {
    if (name === "ioredis") return connect(server.port);
    const client = await connectNodeRedis(server.port);
    onTestFinished(() => client.destroy());
    return client;
  };

  it("is stopped and restarted: errors in time, nothing lost, no new store needed", async () => {
    const server = await start({ persistence: "appendonly" });
    const store = open(await clientOf(server));
    const [done, running] = [unique(), unique()];
    await completed(store, done, "kept");
    const { token } = await claimed(store, running);
    await server.stop({ keepData: true });
    await allUnavailable(store);
    await server.restart();
    await worksAgain(store);
    expect(await replayed(store, done)).toBe("kept");
    expect(await store.claim(running, request())).toMatchObject({ state: "running" });
    expect(await store.complete(running, token, bytes("late"), HOUR_MS)).toBe(true);
  });

  it("is paused: errors in time, and a claim that was given up is held by nobody", async () => {
    const server = await start();
    const store = open(await clientOf(server));
    // The script is known, so that the server will execute the claim when it is resumed.
    await completed(store, unique());
    const id = unique();
    await server.pause();
    await Promise.all([expectUnavailable(store.claim(id, request())), allUnavailable(store)]);
    await server.resume();
    await worksAgain(store);
    expect(await claimed(store, id)).toMatchObject({ attempt: 1 });
  });

  it("answers in time, but to a process that is busy: of many claims that were given up, none is left to its lease", async () => {
    const server = await start();
    const client = await clientOf(server);
    await completed(redisStore({ client }), unique());
    await server.command("CONFIG", "RESETSTAT");
    const hasty = redisStore({ client, timeoutMs: 1 });
    const ids = Array.from({ length: 100 }, unique);
    const claims = ids.map((id) => expectUnavailable(hasty.claim(id, request())));
    for (const busyUntil = performance.now() + 20; performance.now() < busyUntil; );
    await Promise.all(claims);
    // All claims, and what ends each of them.
    const executed = async () =>
      [...String(await server.command("INFO", "commandstats")).matchAll(/(eval|evalsha):calls=(\d+)/g)].map(String);
    await expect
      .poll(executed)
      .toEqual(expect.arrayContaining(["eval:calls=100,eval,100", "evalsha:calls=100,evalsha,100"]));
    expect(await server.command("DBSIZE")).toBe(1);
  });

  it("loses the claim that it was to answer: the claim is released, not left to its lease", async () => {
    const server = await start();
    const store = open(await clientOf(server));
    await completed(store, unique());
    const id = unique();
    await server.pause();
    const late = store.claim(id, request());
    await expectUnavailable(late);
    await server.resume();
    await eventually(async () => (await store.find(id)) === null, { what: "the late claim is released" });
    // It was made, for a moment: the server executed what it found in its buffers.
    expect(String(await server.command("INFO", "commandstats"))).toMatch(/cmdstat_del:calls=1/);
  });
});

it("a read-only replica refuses claims as unavailable, and is usable once promoted", async () => {
  const master = await start();
  const replica = await start({ replicaOf: master });
  const store = open(connect(replica.port));
  const id = unique();
  await completed(open(connect(master.port)), id);
  await eventually(async () => (await store.find(id))?.state === "completed", { what: "the replica has the record" });
  const refused = store.claim(unique(), request());
  await expectUnavailable(refused);
  await expect(refused).rejects.toThrow("READONLY");
  await replica.command("REPLICAOF", "NO", "ONE");
  await worksAgain(store);
  expect(await replayed(store, id)).toBe("done");
});

it("a server whose memory is full still replays and releases; claims and outcomes wait for room, and nothing is lost", async () => {
  const server = await start();
  const store = open(connect(server.port));
  const [done, running, released] = [unique(), unique(), unique()];
  await completed(store, done);
  const [{ token }, other] = [await claimed(store, running), await claimed(store, released)];
  await server.command("CONFIG", "SET", "maxmemory", 1);
  const refused = store.claim(unique(), request());
  await expectUnavailable(refused);
  await expect(refused).rejects.toThrow("OOM");
  await expectUnavailable(store.complete(running, token, bytes("outcome"), HOUR_MS));
  expect(await replayed(store, done)).toBe("done");
  expect(await store.release(released, other.token)).toBe(true);
  await server.command("CONFIG", "SET", "maxmemory", 0);
  expect(await store.complete(running, token, bytes("outcome"), HOUR_MS)).toBe(true);
  expect(await replayed(store, running)).toBe("outcome");
});

it("a server that is loading its data is unavailable until it has them", async () => {
  // Forty keys take nearly a second, and connections are served in between.
  const config = ["key-load-delay 20000", "loading-process-events-interval-bytes 1024"];
  const server = await start({ persistence: "appendonly", config });
  const client = connect(server.port, { enableReadyCheck: false });
  const store = open(client);
  const id = unique();
  await completed(store, id);
  for (let n = 0; n < 40; n += 1) await client.set(`key:${n}`, randomBytes(4_000));
  await server.command("BGREWRITEAOF");
  await eventually(async () => String(await server.command("INFO", "persistence")).includes("rewrite_in_progress:0"), {
    what: "the data are in a snapshot",
  });
  await server.restart();
  await eventually(
    () =>
      store.ping().then(
        () => Promise.reject(new Error("not loading")),
        (error: Error) => error.message.includes("LOADING"),
      ),
    { what: "the server is loading" },
  );
  await expectUnavailable(store.claim(id, request()));
  await worksAgain(store);
  expect(await replayed(store, id)).toBe("done");
});

it("a black hole between them is noticed in time, also when the client never gives up", async () => {
  const server = await start();
  const client = connect(server.port, { maxRetriesPerRequest: null });
  const store = open(client);
  await completed(store, unique());
  await server.stop({ keepData: true });
  await allUnavailable(store);
  await server.restart();
  await worksAgain(store);
});
