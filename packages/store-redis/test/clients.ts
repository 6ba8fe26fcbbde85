import { Redis, type RedisOptions } from "ioredis";
import { createClient, type RedisClientOptions } from "redis";
import { onTestFinished } from "vitest";

/** Calls that wait for somebody who never comes fail this soon. */
export const TEST_TIMEOUT_MS = 500;

/** An ioredis client for one test, with errors of connections ignored: tests end servers on purpose. */
export function connect(port: number, options: RedisOptions = {}): Redis {
  const client = new Redis({ host: "127.0.0.1", port, retryStrategy: () => 20, ...options });
  client.on("error", () => {});
  onTestFinished(() => client.disconnect());
  return client;
}

/** A node-redis client. */
export async function connectNodeRedis(port: number, options: Pick<RedisClientOptions, "username" | "password"> = {}) {
  const client = createClient({ socket: { host: "127.0.0.1", port, reconnectStrategy: () => 20 }, ...options });
  client.on("error", () => {});
  await client.connect();
  return client;
}
