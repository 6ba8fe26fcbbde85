import { InvalidOptionError, StoreRejectedError } from "@onceward/core";
import { startRedis } from "@onceward/test-servers";
import { Redis } from "ioredis";
import { afterAll, describe, expect, it } from "vitest";
import { redisQuorumStore, redisStore } from "../src/index.ts";
import { connect } from "./clients.ts";
import { bytes, claimed, expectRejected, HOUR_MS, replayed, request, unique } from "./helpers.ts";

const server = await startRedis({
  password: "right",
  users: [{ name: "guest", password: "guest", rules: "~other:* +@all" }],
  config: ["proto-max-bulk-len 1mb"],
});
const client = new Redis(server.url);
const store = redisStore({ client });
const keyOf = (id: string) => `onceward:{${id}}`;

afterAll(async () => {
  client.disconnect();
  await server.stop();
});

describe("options", () => {
  const wrong: readonly (readonly [string, unknown, RegExp])[] = [
    ["no options", undefined, /takes an object with client/],
    ["no client", {}, /client must be a Redis or Cluster of ioredis/],
    ["a client that is none", { client: { get: () => null } }, /client must be a Redis or Cluster of ioredis/],
    ["an option misspelt", { client, ttl: 5 }, /has no option "ttl"; it has client, prefix, timeoutMs, waitReplicas/],
    ["a prefix with a pattern", { client, prefix: "a*" }, /prefix must be/],
    ["a prefix with a hash tag", { client, prefix: "{a}:" }, /prefix must be/],
    ["a prefix with spaces", { client, prefix: "a b" }, /prefix must be/],
    ["an empty prefix", { client, prefix: "" }, /prefix must be/],
    ["a prefix that is no string", { client, prefix: 5 }, /prefix must be/],
    ["no time at all", { client, timeoutMs: 0 }, /timeoutMs must be a whole number/],
    ["a time that timers can't hold", { client, timeoutMs: 2 ** 31 }, /timeoutMs must be a whole number/],
    ["part of a replica", { client, waitReplicas: { count: 0.5, timeoutMs: 1 } }, /waitReplicas.count must be/],
    ["replicas without a time", { client, waitReplicas: { count: 1 } }, /waitReplicas.timeoutMs must be/],
    ["replicas by another name", { client, waitReplicas: { replicas: 1 } }, /has no option "replicas"/],
    [
      "replicas that may take longer than the call",
      { client, timeoutMs: 100, waitReplicas: { count: 1, timeoutMs: 100 } },
      /waitReplicas.timeoutMs must be less than timeoutMs/,
    ],
  ];
  it.each(wrong)("of redisStore: %s", (_what, options, message) => {
    const make = () => redisStore(options as never);
    expect(make).toThrow(InvalidOptionError);
    expect(make).toThrow(message);
  });

  const [a, b, c] = [1, 2, 3].map(() => Object.create(client) as Redis);
  const wrongQuorums: readonly (readonly [string, unknown, RegExp])[] = [
    ["none", {}, /clients must be an array of 3, 5/],
    ["one", { clients: [a] }, /clients must be an array of 3, 5/],
    ["two", { clients: [a, b] }, /clients must be an array of 3, 5/],
    ["four", { clients: [a, b, c, client] }, /clients must be an array of 3, 5/],
    ["one twice", { clients: [a, b, a] }, /one client twice/],
    ["one that is none", { clients: [a, b, {}] }, /clients\[2\] must be/],
    ["an option of the other store", { clients: [a, b, c], waitReplicas: {} }, /has no option "waitReplicas"/],
  ];
  it.each(wrongQuorums)("of redisQuorumStore, clients: %s", (_what, options, message) => {
    const make = () => redisQuorumStore(options as never);
    expect(make).toThrow(InvalidOptionError);
    expect(make).toThrow(message);
  });
});

describe("credentials", () => {
  it("a wrong password is said to be wrong", async () => {
    const intruder = connect(server.port, { password: "wrong" });
    await expectRejected(
      redisStore({ client: intruder }).claim(unique(), request()),
      /check its username and password/,
    );
  });

  it("no password where one is needed", async () => {
    const intruder = connect(server.port, { enableReadyCheck: false });
    await expectRejected(
      redisStore({ client: intruder }).claim(unique(), request()),
      /check its username and password/,
    );
  });

  it("a user without permissions is told what is missing, and where to read about it", async () => {
    const guest = connect(server.port, { username: "guest", password: "guest" });
    await expectRejected(redisStore({ client: guest }).claim(unique(), request()), /README lists.*NOPERM/s);
  });
});

describe("values", () => {
  it("a foreign value under the name of a record is reported, and left as it is", async () => {
    const id = unique();
    await client.lpush(keyOf(id), "foreign");
    await expectRejected(store.claim(id, request()), /another `prefix`.*WRONGTYPE/s);
    await expectRejected(store.find(id), /WRONGTYPE/);
    await expectRejected(store.complete(id, "token", bytes("done"), HOUR_MS), /WRONGTYPE/);
    expect(await client.lrange(keyOf(id), 0, -1)).toEqual(["foreign"]);
  });

  it.each(["", "not a record", "R-- token 1", "C-- token", "R--", "\n"])(
    "a corrupt record (%j) is reported, left for somebody to look at, and can be removed",
    async (text) => {
      const id = unique();
      await client.set(keyOf(id), text);
      for (const call of [store.claim(id, request()), store.find(id)]) {
        await expect(call).rejects.toThrow(StoreRejectedError);
        await expect(call).rejects.toThrow("not a record");
      }
      expect(await client.get(keyOf(id))).toBe(text);
      await store.remove(id);
      expect(await claimed(store, id)).toMatchObject({ attempt: 1 });
    },
  );

  it.each(["garbage", "1 1\na", "5 1\nname"])("corrupt steps (%j) are not handed to the next runner", async (steps) => {
    const id = unique();
    const record = `Rs- token 1 1 0 1 1 9007199254740 1 fingerprint -\n${steps}`;
    await client.set(keyOf(id), record);
    await expectRejected(store.find(id), /steps can't be read/);
    await expectRejected(store.claim(id, request()), /steps can't be read/);
    expect(await client.get(keyOf(id))).toBe(record);
  });

  it("list passes corrupt records over, with a warning", async () => {
    const prefix = "listed:";
    const listing = redisStore({ client, prefix });
    const warnings: string[] = [];
    listing.onEvent((event) => event.type === "store-warning" && warnings.push(event.message));
    await client.set(`${prefix}{corrupt}`, "garbage");
    await claimed(listing, "fine");
    const ids: string[] = [];
    for await (const { id } of listing.list()) ids.push(id);
    expect(ids).toEqual(["fine"]);
    expect(warnings.join()).toContain("listed:{corrupt}");
  });

  it("an outcome larger than the server takes is refused; the claim stands and a smaller one completes it", async () => {
    const id = unique();
    const { token } = await claimed(store, id);
    const tooMuch = new Uint8Array(2_000_000);
    for (const call of [store.complete(id, token, tooMuch, HOUR_MS), store.saveStep(id, token, "step", tooMuch)]) {
      await expect(call).rejects.toThrow(StoreRejectedError);
      await expect(call).rejects.toThrow("2000000 bytes are more than the server takes: proto-max-bulk-len is 1048576");
    }
    expect(await store.find(id)).toMatchObject({ state: "running", token, steps: [] });
    expect(await store.complete(id, token, bytes("smaller"), HOUR_MS)).toBe(true);
    expect(await replayed(store, id)).toBe("smaller");
  });

  it("tokens and fingerprints that could break a record apart are refused before anything is sent", async () => {
    for (const parts of [{ token: "a b" }, { token: "" }, { fingerprint: "a\nb" }, { fingerprint: "x".repeat(129) }]) {
      const call = async () => store.claim(unique(), request(parts));
      await expect(call()).rejects.toThrow(/URL-safe strings/);
    }
  });
});
