import { PGlite } from "@electric-sql/pglite";
import type { Store } from "@onceward/core";
import { memoryStore } from "@onceward/store-memory";
import { postgresStore } from "@onceward/store-postgres";
import { redisStore } from "@onceward/store-redis";
import { countingProxy, onPath, postgresBinaries, startPostgres, startRedis } from "@onceward/test-servers";
import { Redis } from "ioredis";
import pg from "pg";
import type { StoreSource } from "../service/store-source.ts";
import type { StoreChoice, StoreKind } from "../shared/messages.ts";

/** A store as the main process holds it. */
export interface HostedStore {
  readonly kind: StoreKind;
  /** For the operator's panel and the statistics. */
  readonly store: Store;
  /** How the service processes reach it. */
  readonly source: StoreSource;
  /** The wire between service and store; undefined where it can't be cut (TLS, or a server elsewhere). */
  readonly wire: Wire | undefined;
  close(): Promise<void>;
}

/** A connection that can be interrupted. */
interface Wire {
  cut(): void;
  mend(): void;
}

/** Names what this playground leaves in servers of others, until it ends and takes it away. */
const mine = `onceward_playground_${process.pid}`;
const CONNECT_TIMEOUT_MS = 3_000;

/** Which stores can be had here, and how. */
export async function storeChoices(): Promise<readonly StoreChoice[]> {
  const { REDIS_URL, DATABASE_URL } = process.env;
  const redis = REDIS_URL
    ? "at REDIS_URL"
    : onPath(["redis-server", "valkey-server"]) && "installed; starts when chosen";
  const postgres =
    DATABASE_URL !== undefined && DATABASE_URL !== ""
      ? "at DATABASE_URL"
      : await postgresBinaries(false).then(
          () => "installed; starts when chosen",
          () => undefined,
        );
  const choice = (kind: StoreKind, note: string | undefined, remedy: string): StoreChoice => ({
    kind,
    available: note !== undefined,
    note: note ?? remedy,
  });
  return [
    choice("memory", "in the playground's main process", ""),
    choice("pglite", "Postgres inside the playground's main process", ""),
    choice("redis", redis, "Set REDIS_URL, or install redis-server, and start again"),
    choice("postgres", postgres, "Set DATABASE_URL, or install Postgres and set POSTGRES_BIN, and start again"),
  ];
}

/** Opens a store, and starts its server if need be. Rejects with what to do when that fails. */
export function openHostedStore(kind: StoreKind): Promise<HostedStore> {
  if (kind === "memory") return Promise.resolve(linked(kind, memoryStore(), async () => {}));
  if (kind === "pglite") return openPglite();
  return kind === "redis" ? openRedis() : openPostgres();
}

function linked(kind: StoreKind, store: Store, close: () => Promise<void>): HostedStore {
  // The main process itself refuses the service processes' calls while the wire is cut.
  return { kind, store, source: { kind: "linked", store: kind }, wire: { cut() {}, mend() {} }, close };
}

async function openPglite(): Promise<HostedStore> {
  const client = await PGlite.create();
  const store = postgresStore({ client });
  await store.migrate();
  return linked("pglite", store, () => client.close());
}

async function openRedis(): Promise<HostedStore> {
  const external = process.env["REDIS_URL"];
  const server = external ? undefined : await startRedis();
  const url = external || server!.url;
  const client = new Redis(url, { lazyConnect: true, connectTimeout: CONNECT_TIMEOUT_MS, retryStrategy: () => null });
  client.on("error", () => {});
  await client.connect().catch((cause) => {
    throw new Error(`No Redis answers at ${withoutPassword(url)}: start it, or change REDIS_URL.`, { cause });
  });
  const prefix = `${mine}:`;
  const store = redisStore({ client, prefix });
  const wired = await wireTo(url, "redis:", 6379);
  return {
    kind: "redis",
    store,
    source: { kind: "redis", url: wired.url, prefix },
    wire: wired.wire,
    async close() {
      for await (const { id } of store.list?.() ?? []) await store.remove(id);
      await store.close();
      client.disconnect();
      await wired.close();
      await server?.stop();
    },
  };
}

async function openPostgres(): Promise<HostedStore> {
  const external = process.env["DATABASE_URL"];
  const server = external ? undefined : await startPostgres();
  const url = external || server!.url;
  const pool = new pg.Pool({ connectionString: url, max: 3, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  const store = postgresStore({ client: pool, schema: mine });
  await store.migrate().catch(async (cause) => {
    await pool.end();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`No Postgres is ready at ${withoutPassword(url)}: start it, or change DATABASE_URL. (${reason})`, {
      cause,
    });
  });
  const wired = await wireTo(url, "postgres:", 5432);
  return {
    kind: "postgres",
    store,
    source: { kind: "postgres", url: wired.url, schema: mine },
    wire: wired.wire,
    async close() {
      await store.close();
      await pool.query(`drop schema if exists ${mine} cascade`).catch(() => {});
      await pool.end();
      await wired.close();
      await server?.stop();
    },
  };
}

/** Puts a proxy between the service and a server on this machine, so that a scene can cut the wire. */
async function wireTo(url: string, protocol: string, defaultPort: number) {
  const { hostname, port, protocol: found } = new URL(url);
  const plain = found === protocol && ["127.0.0.1", "localhost"].includes(hostname);
  if (!plain) return { url, wire: undefined, close: async () => {} };
  const proxy = await countingProxy(Number(port || defaultPort));
  const wire = {
    cut() {
      proxy.blackhole();
      proxy.drop();
    },
    mend: () => proxy.restore(),
  };
  return { url: proxy.through(url), wire, close: () => proxy.close() };
}

function withoutPassword(url: string): string {
  const parsed = new URL(url);
  if (parsed.password) parsed.password = "…";
  return parsed.href;
}
