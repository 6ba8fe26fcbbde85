import { existsSync } from "node:fs";
import { Redis } from "ioredis";
import { afterEach, describe, expect, it } from "vitest";
import { eventually, freePort, type RedisOptions, type RedisServer, startRedis } from "../src/index.ts";
import { processState } from "./processes.ts";

const started: RedisServer[] = [];
async function start(options?: RedisOptions): Promise<RedisServer> {
  const server = await startRedis(options);
  started.push(server);
  return server;
}
afterEach(() => Promise.all(started.splice(0).map((server) => server.stop())));

describe("startRedis", () => {
  it("answers on a free loopback port, from a folder that stop() removes with the process", async () => {
    const redis = await start();
    const client = new Redis(redis.url);
    expect(await client.ping()).toBe("PONG");
    expect(await client.config("GET", "bind")).toEqual(["bind", "127.0.0.1"]);
    client.disconnect();
    const { pid, dir } = redis;
    expect(existsSync(dir)).toBe(true);
    await redis.stop();
    await redis.stop();
    expect([redis.pid, processState(pid as number), existsSync(dir)]).toEqual([undefined, undefined, false]);
  });

  it("takes the port, the password, memory limit and lines of configuration it is given", async () => {
    const port = await freePort();
    const config = ["maxmemory-policy allkeys-lru"];
    const redis = await start({ port, password: 'pass "word', maxmemory: "10mb", config });
    expect(redis.port).toBe(port);
    const client = new Redis(redis.url);
    expect(await client.config("GET", "maxmemory")).toEqual(["maxmemory", String(10 * 1024 * 1024)]);
    expect(await client.config("GET", "maxmemory-policy")).toEqual(["maxmemory-policy", "allkeys-lru"]);
    client.disconnect();
    const anonymous = new Redis(port, { lazyConnect: true, retryStrategy: () => null });
    anonymous.on("error", () => undefined); // The call rejects.
    await expect(anonymous.get("key")).rejects.toThrow("NOAUTH");
    anonymous.disconnect();
  });

  it("knows users with rules", async () => {
    const redis = await start({ users: [{ name: "app", password: "secret", rules: "~app:* +@all" }] });
    const client = new Redis({ port: redis.port, username: "app", password: "secret" });
    expect(await client.set("app:1", "x")).toBe("OK");
    await expect(client.set("other", "x")).rejects.toThrow("NOPERM");
    client.disconnect();
  });

  it("speaks TLS with a certificate that clients can verify, the same after a restart", async () => {
    const redis = await start({ tls: true });
    await redis.restart({ empty: true });
    const client = new Redis(redis.url, { tls: { ca: redis.tls?.ca as string } });
    expect(await client.ping()).toBe("PONG");
    client.disconnect();
  });

  it("replicates", async () => {
    const master = await start({ password: "secret" });
    const replica = await start({ password: "secret", replicaOf: master });
    await master.command("SET", "key", "value");
    await eventually(async () => (await replica.command("GET", "key")) === "value", { what: "the copy arrives" });
    await expect(replica.command("SET", "key", "other")).rejects.toThrow("READONLY");
  });

  it("fails with the server's last words", async () => {
    await expect(startRedis({ config: ["no-such-directive yes"] })).rejects.toThrow(
      /redis-server did not start: it ended with exit code 1(.|\n)*no-such-directive/,
    );
  });

  it("does not take another server on its port for its own", async () => {
    const { port } = await start();
    await expect(startRedis({ port })).rejects.toThrow(/address already in use/i);
  });
});

describe("a Redis of one's own", () => {
  it("loses its data in a restart, unless it appends them to a file", async () => {
    const forgetful = await start();
    const mindful = await start({ persistence: "appendonly" });
    for (const server of [forgetful, mindful]) await server.command("SET", "key", "value");
    for (const server of [forgetful, mindful]) await server.restart();
    expect(await forgetful.command("GET", "key")).toBeNull();
    expect(await mindful.command("GET", "key")).toBe("value");
    await mindful.kill();
    expect(mindful.pid).toBeUndefined();
    await mindful.restart();
    expect(await mindful.command("GET", "key")).toBe("value");
    await mindful.restart({ empty: true });
    expect(await mindful.command("GET", "key")).toBeNull();
  });

  it("can be down for a while, after an orderly stop or a kill", async () => {
    const redis = await start({ persistence: "appendonly" });
    await redis.command("SET", "key", "value");
    for (const goDown of [() => redis.stop({ keepData: true }), () => redis.kill()]) {
      await goDown();
      await expect(redis.command("PING")).rejects.toThrow();
      await expect(redis.pause()).rejects.toThrow("is not running");
      await redis.restart();
      expect(await redis.command("GET", "key")).toBe("value");
    }
  });

  it("answers nothing while paused, and everything once resumed", async () => {
    const [redis, other] = [await start(), await start()];
    const order: string[] = [];
    await redis.pause();
    expect(processState(redis.pid as number)).toBe("T");
    const answer = redis.command("PING").then(() => order.push("answered"));
    for (let index = 0; index < 20; index += 1) await other.command("PING");
    order.push("resumed");
    await redis.resume();
    await answer;
    expect(order).toEqual(["resumed", "answered"]);
  });

  it("can be stopped in order and restarted while paused", async () => {
    const redis = await start();
    await redis.pause();
    await redis.restart();
    expect(await redis.log(100)).toContain("ready to exit, bye bye");
    expect(await redis.command("PING")).toBe("PONG");
    await redis.pause();
    await redis.stop();
    expect(redis.pid).toBeUndefined();
  });
});
