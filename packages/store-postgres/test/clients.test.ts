import { StoreRejectedError } from "@onceward/core";
import { eventually, type PostgresServer, startPostgres } from "@onceward/test-servers";
import { Client, type Pool, types } from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { postgresStore } from "../src/index.ts";
import { claimed, completed, HOUR_MS, openPool, request, testing, testPool } from "./support.ts";

let server: PostgresServer;
let pool: Pool;
beforeAll(async () => {
  server = await startPostgres();
  pool = openPool(server.url);
  await postgresStore({ client: pool }).migrate();
});
afterAll(async () => {
  await pool.end();
  await server.stop();
});

const connected = async () => {
  const client = new Client(server.url);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
};
const never = () => new AbortController().signal;

describe("the caller's client", () => {
  it("is a pool: it stays open, with nothing of ours left", async () => {
    const own = testPool(server.url);
    const before = own.listenerCount("error");
    const store = postgresStore({ client: own });
    const { id, fence } = await claimed(store);
    const watch = store.watch?.(id, fence, never());
    await eventually(
      async () => (await server.query("select from onceward.records where id = $1 and watched", [id])).length === 1,
      {
        what: "somebody waits",
      },
    );
    await store.close();
    await watch;
    expect(own.listenerCount("error")).toBe(before);
    // The connection that listened is closed; the others are the caller's.
    await eventually(() => own.idleCount === own.totalCount, { what: "all connections are given back" });
    const { rows } = await own.query("select array(select pg_listening_channels()) as channels");
    expect(rows).toEqual([{ channels: [] }]);
  });

  it("is one connection: calls take turns, LISTEN shares it, and it stays open", async () => {
    const client = await connected();
    const errors = client.listenerCount("error");
    const store = postgresStore({ client });
    const { id, token, fence } = await claimed(store);
    const watch = store.watch?.(id, fence, never());
    await Promise.all(Array.from({ length: 20 }, () => completed(store)));
    await store.complete(id, token, Buffer.from("done"), HOUR_MS);
    await watch;
    await store.close();
    expect([client.listenerCount("notification"), client.listenerCount("end")]).toEqual([0, 0]);
    expect(client.listenerCount("error")).toBeLessThanOrEqual(errors + 1);
    expect((await client.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  });

  it("is shared by many stores without listeners that pile up", async () => {
    const own = testPool(server.url, { max: 2 });
    for (let n = 0; n < 15; n += 1) {
      const store = postgresStore({ client: own, listen: false });
      await completed(store);
      await store.close();
    }
    const connection = await own.connect();
    onTestFinished(() => connection.release());
    expect(connection.listenerCount("error")).toBeLessThanOrEqual(1);
  });
});

describe("a connection of the store's own for LISTEN", () => {
  it("is asked for once, and ended with the store", async () => {
    const made: Client[] = [];
    const listen = async () => {
      const client = new Client(server.url);
      await client.connect();
      made.push(client);
      return client;
    };
    const store = postgresStore({ client: pool, listen });
    const runs = await Promise.all([claimed(store), claimed(store)]);
    const watches = runs.map(({ id, fence }) => store.watch?.(id, fence, never()));
    await Promise.all(runs.map(({ id, token }) => store.complete(id, token, Buffer.from("done"), HOUR_MS)));
    await Promise.all(watches);
    expect(made).toHaveLength(1);
    await store.close();
    await expect(made[0]?.query("select 1")).rejects.toThrow(/closed|not queryable/);
  });
});

describe("a server that refuses for good", () => {
  const urlWith = (difference: Partial<Record<"password" | "username" | "pathname", string>>) =>
    Object.assign(new URL(server.url), difference).href;

  it.each([
    [{ password: "wrong" }, /password authentication failed.*28P01.*The password is wrong/],
    [{ username: "nobody_here" }, /password authentication failed/],
    [{ pathname: "/no_such_database" }, /3D000.*The database doesn't exist/],
  ])("%j", async (difference, message) => {
    const store = testing(postgresStore({ client: testPool(urlWith(difference)), listen: false }));
    const call = store.claim("id", request());
    await expect(call).rejects.toThrow(StoreRejectedError);
    await expect(call).rejects.toThrow(message);
    await expect(call).rejects.toHaveProperty("cause.severity", "FATAL");
    await expect(store.migrate()).rejects.toThrow(message);
  });

  it("a role without rights", async () => {
    await server.query("create role bystander login password 'x'");
    const store = testing(postgresStore({ client: testPool(urlWith({ username: "bystander", password: "x" })) }));
    await expect(store.ping()).rejects.toThrow(/42501.*grant SELECT, INSERT, UPDATE, DELETE/);
  });
});

describe("records that can't be stored or read", () => {
  it("an outcome that is too large is refused, and the record can still be completed", async () => {
    const store = testing(postgresStore({ client: pool }));
    const { id, token } = await claimed(store);
    // Only asked for its length.
    const huge = Object.defineProperty(new Uint8Array(0), "byteLength", { value: 2 ** 30 });
    for (const call of [store.complete(id, token, huge, HOUR_MS), store.saveStep(id, token, "step", huge)]) {
      await expect(call).rejects.toThrow(/has 1073741824 bytes; this store takes 104857600/);
      await expect(call).rejects.toBeInstanceOf(StoreRejectedError);
    }
    expect(await store.find(id)).toMatchObject({ state: "running", steps: [] });
    expect(await store.complete(id, token, Buffer.from("small"), HOUR_MS)).toBe(true);
  });

  it("a mebibyte of every byte comes back as it was, from a claim and from find", async () => {
    const store = testing(postgresStore({ client: pool }));
    const { id, token } = await claimed(store);
    const outcome = new Uint8Array(2 ** 20).map((_, index) => (index * 7 + (index >> 8)) % 256);
    await store.complete(id, token, outcome, HOUR_MS);
    const replay = (await store.claim(id, request())) as { outcome: Uint8Array };
    expect(Buffer.compare(replay.outcome, outcome)).toBe(0);
    expect(Buffer.compare((await store.find(id))?.outcome ?? new Uint8Array(), outcome)).toBe(0);
    const { rows } = await pool.query("select pg_typeof(outcome)::text as type from onceward.records where id = $1", [
      id,
    ]);
    expect(rows).toEqual([{ type: "bytea" }]);
  });

  it("a corrupt record is told from an absent one, harms no other, and can be removed", async () => {
    const store = testing(postgresStore({ client: pool }));
    const [corrupt, sound] = [await completed(store), await completed(store)];
    await pool.query("update onceward.records set outcome = null where id = $1", [corrupt.id]);
    for (const call of [() => store.claim(corrupt.id, request()), () => store.find(corrupt.id)]) {
      await expect(call()).rejects.toThrow(StoreRejectedError);
      await expect(call()).rejects.toThrow(/outcome is missing.*corrupt: remove it/);
    }
    expect(await store.find(sound.id)).toMatchObject({ state: "completed" });
    expect(await store.remove(corrupt.id)).toBe(true);
    expect(await store.claim(corrupt.id, request())).toMatchObject({ state: "claimed" });
  });

  it("a driver that was told to read bytea otherwise is found out", async () => {
    const original = types.getTypeParser(types.builtins.BYTEA);
    types.setTypeParser(types.builtins.BYTEA, (text) => text);
    onTestFinished(() => types.setTypeParser(types.builtins.BYTEA, original));
    const store = testing(postgresStore({ client: pool }));
    const { id } = await completed(store);
    await expect(store.claim(id, request())).rejects.toThrow(/outcome is a string.*type parser of the driver/);
  });
});
