import { type PostgresServer, startPostgres } from "./postgres.ts";
import { type RedisServer, startRedis } from "./redis.ts";

/** A server that somebody else runs, named by an environment variable: tests can use it, but not stop it. */
export interface ExternalServer {
  readonly owned: false;
  readonly url: string;
  readonly host: string;
  readonly port: number;
}

let redis: Promise<RedisServer> | undefined;
let postgres: Promise<PostgresServer> | undefined;

/**
 * The server at `REDIS_URL`, else a throw-away one that all callers in this process share and that ends with it. Use
 * keys of your own: others may use it too.
 */
export async function sharedRedis(): Promise<RedisServer | ExternalServer> {
  const external = externalServer("REDIS_URL", 6379);
  if (external !== undefined) return external;
  redis ??= startRedis();
  return redis;
}

/**
 * The server at `DATABASE_URL`, else a throw-away one that all callers in this process share and that ends with it.
 * Take a database of your own from `freshDatabase`.
 */
export async function sharedPostgres(): Promise<PostgresServer | ExternalServer> {
  const external = externalServer("DATABASE_URL", 5432);
  if (external !== undefined) return external;
  postgres ??= startPostgres();
  return postgres;
}

function externalServer(variable: string, defaultPort: number): ExternalServer | undefined {
  const text = process.env[variable];
  if (text === undefined || text === "") return undefined;
  const url = new URL(text);
  return { owned: false, url: text, host: url.hostname, port: Number(url.port || defaultPort) };
}
