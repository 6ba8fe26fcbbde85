import { type RedisServer, startRedis } from "@onceward/test-servers";
import { createClient } from "redis";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { type RedisStore, redisStore } from "../src/index.ts";
import { connect, connectNodeRedis } from "./clients.ts";
import { bytes, claimed, completed, expectRejected, HOUR_MS, replayed, unique } from "./helpers.ts";

/** What the README tells to grant. */
const RULES = "~onceward:* &onceward:* +evalsha +eval +get +set +del +pttl +time +publish +subscribe +scan +info +ping";

const servers: RedisServer[] = [];
const start = async (options?: Parameters<typeof startRedis>[0]) => {
  const server = await startRedis(options);
  servers.push(server);
  return server;
};
afterAll(() => Promise.all(servers.map((server) => server.stop())));

/** Every capability once: claim, steps, renewal, push, outcome, list, removal. */
async function expectAllToWork(store: RedisStore): Promise<void> {
  const id = unique();
  const { token, fence } = await claimed(store, id, { label: "order 5" });
  expect(await store.saveStep(id, token, "step", bytes("1"))).toBe(true);
  expect(await store.renew(id, token, HOUR_MS)).toBe(true);
  const watch = store.watch(id, fence, new AbortController().signal);
  await store.ping();
  expect(await store.complete(id, token, bytes("outcome"), HOUR_MS)).toBe(true);
  await watch;
  expect(await replayed(store, id)).toBe("outcome");
  const listed: string[] = [];
  for await (const record of store.list()) listed.push(record.id);
  expect(listed).toContain(id);
  expect(await store.remove(id)).toBe(true);
}

async function opened(store: RedisStore): Promise<RedisStore> {
  onTestFinished(() => store.close());
  return store;
}

describe("ioredis' keyPrefix", () => {
  it("stands before our keys, and keeps applications apart", async () => {
    const server = await start();
    const [shop, bank] = [
      connect(server.port, { keyPrefix: "shop:" }),
      connect(server.port, { keyPrefix: "b*nk[1]:" }),
    ];
    const stores = await Promise.all([opened(redisStore({ client: shop })), opened(redisStore({ client: bank }))]);
    const id = unique();
    for (const store of stores) await completed(store, id);
    const direct = connect(server.port);
    expect((await direct.keys("*")).sort()).toEqual([`b*nk[1]:onceward:{${id}}`, `shop:onceward:{${id}}`]);
    for (const store of stores) {
      const listed: string[] = [];
      for await (const record of store.list()) listed.push(record.id);
      expect(listed).toEqual([id]);
      await expectAllToWork(store);
    }
  });
});

it("another database of the server", async () => {
  const [server] = servers as [RedisServer];
  await expectAllToWork(await opened(redisStore({ client: connect(server.port, { db: 3 }) })));
});

it("another prefix", async () => {
  const [server] = servers as [RedisServer];
  const client = connect(server.port);
  const [one, two] = ["one:", "two/2.0_-:"].map((prefix) => redisStore({ client, prefix })) as [RedisStore, RedisStore];
  const id = unique();
  await completed(one, id);
  expect(await two.find(id)).toBeNull();
  await expectAllToWork(await opened(two));
});

it("TLS, for the store's own connection as well", async () => {
  const server = await start({ tls: true, password: "secret" });
  const { ca } = server.tls as NonNullable<RedisServer["tls"]>;
  await expectAllToWork(
    await opened(redisStore({ client: connect(server.port, { tls: { ca }, password: "secret" }) })),
  );
  const nodeRedis = createClient({ url: server.url, socket: { tls: true, ca } });
  await nodeRedis.connect();
  onTestFinished(() => nodeRedis.destroy());
  await expectAllToWork(await opened(redisStore({ client: nodeRedis })));
});

describe("a user of access control lists", () => {
  const users = [
    { name: "app", password: "app", rules: RULES },
    { name: "mute", password: "mute", rules: RULES.replace("&onceward:* ", "").replace("+publish +subscribe ", "") },
  ];

  it("needs no more than the README says", async () => {
    const server = await start({ users });
    const credentials = { username: "app", password: "app" };
    await expectAllToWork(await opened(redisStore({ client: connect(server.port, credentials) })));
    const nodeRedis = await connectNodeRedis(server.port, credentials);
    onTestFinished(() => nodeRedis.destroy());
    await expectAllToWork(await opened(redisStore({ client: nodeRedis })));
  });

  it.each(["+evalsha", "+get", "+set", "+time"])("is told when %s is missing", async (rule) => {
    const server = servers.at(-1) as RedisServer;
    await server.command("ACL", "SETUSER", "less", "reset", "on", ">less", ...RULES.replace(`${rule} `, "").split(" "));
    const client = connect(server.port, { username: "less", password: "less" });
    await expectRejected(completed(redisStore({ client }), unique()), /README lists.*(NOPERM|can't run|ACL failure)/s);
  });

  it("who may not publish or subscribe gets all but the push", async () => {
    const server = servers.at(-1) as RedisServer;
    const client = connect(server.port, { username: "mute", password: "mute" });
    const [mute, other] = [redisStore({ client }), await opened(redisStore({ client: connect(server.port) }))];
    const id = unique();
    const { token, fence } = await claimed(mute, id);
    await expectRejected(mute.watch(id, fence, new AbortController().signal), /README lists/);
    expect(await other.find(id)).toMatchObject({ state: "running" });
    expect(await mute.complete(id, token, bytes("outcome"), HOUR_MS)).toBe(true);
    expect(await replayed(mute, id)).toBe("outcome");
  });
});
