export { onPath } from "./binary.ts";
export type { Certificate } from "./certificate.ts";
export { chromiumBinary } from "./chromium.ts";
export { type CountingProxy, countingProxy, type ProxyCounts } from "./counting-proxy.ts";
export { type EventuallyOptions, eventually } from "./eventually.ts";
export { freePort } from "./free-port.ts";
export { type FreshDatabase, freshDatabase } from "./fresh-database.ts";
export { type PgBouncer, type PgBouncerOptions, startPgBouncer } from "./pgbouncer.ts";
export { type PostgresOptions, type PostgresServer, startPostgres } from "./postgres.ts";
export { type PostgresBinaries, postgresBinaries } from "./postgres-binaries.ts";
export { type RedisOptions, type RedisServer, type RedisUser, startRedis } from "./redis.ts";
export {
  type RedisCluster,
  type RedisClusterNode,
  type RedisClusterOptions,
  startRedisCluster,
} from "./redis-cluster.ts";
export type { RedisTarget } from "./redis-command.ts";
export { type RedisSentinel, type RedisSentinelOptions, type Sentinel, startRedisSentinel } from "./redis-sentinel.ts";
export type { ServerControl } from "./server.ts";
export { type ExternalServer, sharedPostgres, sharedRedis } from "./shared.ts";
