import { Redis } from "ioredis";
import type { Certificate } from "./certificate.ts";

/** Where and as whom to send a command. */
export interface RedisTarget {
  readonly host: string;
  readonly port: number;
  readonly password?: string | undefined;
  readonly tls?: Pick<Certificate, "ca"> | undefined;
}

const TIMEOUT_MS = 5_000;

/** Sends one command over a connection of its own; never retries, and never waits for long. */
export async function redisCommand(target: RedisTarget, ...command: readonly (string | number)[]): Promise<unknown> {
  const [name = "PING", ...args] = command;
  const client = new Redis({
    host: target.host,
    port: target.port,
    ...(target.password !== undefined && { password: target.password }),
    ...(target.tls !== undefined && { tls: { ca: target.tls.ca } }),
    lazyConnect: true,
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    connectTimeout: TIMEOUT_MS,
    commandTimeout: TIMEOUT_MS,
  });
  // What goes wrong rejects the calls below; without a listener ioredis would print it as well.
  client.on("error", () => undefined);
  try {
    await client.connect();
    return await client.call(String(name), ...args);
  } finally {
    client.disconnect();
  }
}

/** The process id of whoever listens there. */
export async function redisProcessId(target: RedisTarget): Promise<number> {
  return Number(/process_id:(\d+)/.exec(String(await redisCommand(target, "INFO", "server")))?.[1]);
}
