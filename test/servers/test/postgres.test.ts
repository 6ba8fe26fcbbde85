import { existsSync } from "node:fs";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { freshDatabase, type PostgresOptions, type PostgresServer, startPostgres } from "../src/index.ts";
import { processState, sharedMemoryOf } from "./processes.ts";

const started: PostgresServer[] = [];
async function start(options?: PostgresOptions): Promise<PostgresServer> {
  const server = await startPostgres(options);
  started.push(server);
  return server;
}
afterEach(() => Promise.all(started.splice(0).map((server) => server.stop())));

describe("startPostgres", () => {
  it("answers on loopback, from a folder that stop() removes with the process", async () => {
    const postgres = await start();
    const client = new Client(postgres.url);
    await client.connect();
    expect((await client.query("show listen_addresses")).rows).toEqual([{ listen_addresses: "127.0.0.1" }]);
    client.on("error", () => undefined); // stop() disconnects it
    const { pid, dir } = postgres;
    expect(existsSync(dir)).toBe(true);
    await postgres.stop();
    expect([postgres.pid, processState(pid as number), existsSync(dir)]).toEqual([undefined, undefined, false]);
  });

  it("takes lines of configuration, such as preloaded libraries", async () => {
    const config = ["shared_preload_libraries = 'pg_stat_statements'"];
    const postgres = await start({ config, maxConnections: 17, durable: true });
    await postgres.query("create extension pg_stat_statements");
    expect(await postgres.query("select count(*) > 0 as counts from pg_stat_statements")).toEqual([{ counts: true }]);
    const names = ["fsync", "full_page_writes", "max_connections", "synchronous_commit"];
    const settings = await postgres.query("select setting from pg_settings where name = any($1) order by name", [
      names,
    ]);
    expect(settings.map(({ setting }) => setting)).toEqual(["on", "on", "17", "on"]);
  });

  it("fails with the server's last words", async () => {
    await expect(startPostgres({ config: ["no_such_setting = 1"] })).rejects.toThrow(
      /postgres did not start: it ended with exit code 1(.|\n)*no_such_setting/,
    );
  });
});

describe("a Postgres of one's own", () => {
  let postgres: PostgresServer;
  beforeAll(async () => {
    postgres = await startPostgres();
    await postgres.query("create table notes (text text)");
  });
  afterAll(() => postgres.stop());

  it("is not taken for another that was to start on its port", async () => {
    await expect(startPostgres({ port: postgres.port })).rejects.toThrow(/address already in use/i);
  });

  it("refuses a wrong password", async () => {
    const url = new URL(postgres.url);
    url.password = "wrong";
    await expect(new Client(url.href).connect()).rejects.toMatchObject({ code: "28P01" });
  });

  it("keeps what was committed over a restart and over a kill", async () => {
    for (const goDown of [() => postgres.stop({ keepData: true }), () => postgres.kill(), async () => undefined]) {
      await postgres.query("insert into notes values ('kept')");
      const before = postgres.pid;
      await goDown();
      await postgres.restart();
      expect(postgres.pid).not.toBe(before);
    }
    expect(await postgres.query("select count(*)::int from notes")).toEqual([{ count: 3 }]);
  });

  it("takes its backends along when killed", async () => {
    const client = new Client(postgres.url);
    client.on("error", () => undefined);
    await client.connect();
    const { rows } = await client.query("select pid from pg_stat_activity");
    expect(rows.length).toBeGreaterThan(2);
    const { pid } = postgres;
    await postgres.kill();
    expect(sharedMemoryOf([pid as number])).toEqual([]);
    expect(rows.map(({ pid }) => processState(pid)).filter(Boolean)).toEqual([]);
    await postgres.restart();
  });

  it("answers nothing while paused, on connections that are open too, and everything once resumed", async () => {
    const client = new Client(postgres.url);
    await client.connect();
    const { rows } = await client.query("select pid from pg_stat_activity");
    await postgres.pause();
    const states = [postgres.pid, ...rows.map(({ pid }) => pid)].map(processState);
    expect(new Set(states)).toEqual(new Set(["T"]));
    const order: string[] = [];
    const answer = client.query("select 1").then(() => order.push("answered"));
    order.push("resumed");
    await postgres.resume();
    await answer;
    await client.end();
    expect(order).toEqual(["resumed", "answered"]);
  });

  it("starts empty when asked to", async () => {
    await postgres.restart({ empty: true });
    await expect(postgres.query("select from notes")).rejects.toMatchObject({ code: "42P01" });
  });

  it("gives each caller of freshDatabase an empty database, several at once", async () => {
    const databases = await Promise.all(Array.from({ length: 4 }, () => freshDatabase(postgres)));
    expect(new Set(databases.map(({ name }) => name)).size).toBe(4);
    const clients = databases.map(({ url }) => new Client(url));
    for (const client of clients) {
      client.on("error", () => undefined); // drop() disconnects it
      await client.connect();
      await client.query("create table only_here ()");
    }
    await Promise.all(databases.map((database) => database.drop()));
    expect(await postgres.query("select from pg_database where datname like 'onceward%'")).toEqual([]);
  });
});
