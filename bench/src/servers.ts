import { type PostgresServer, type RedisServer, startPostgres, startRedis } from "@onceward/test-servers";
import { pinServer } from "./pin.ts";

/** A Redis on the servers' core. */
export async function benchRedis(): Promise<RedisServer> {
  const redis = await startRedis();
  pinServer(redis.pid ?? 0);
  return redis;
}

/** A Postgres on the servers' core. It doesn't wait for the disk, which would hide everything else. */
export async function benchPostgres(config: readonly string[] = []): Promise<PostgresServer> {
  const postgres = await startPostgres({
    config: [
      "shared_buffers = 512MB",
      "max_wal_size = 4GB",
      "checkpoint_timeout = 1h",
      "synchronous_commit = off",
      ...config,
    ],
  });
  pinServer(postgres.pid ?? 0);
  return postgres;
}
