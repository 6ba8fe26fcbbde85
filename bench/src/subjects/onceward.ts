import { PGlite } from "@electric-sql/pglite";
import { aesGcmCodec, type OncewardOptions, onceward, type Store } from "@onceward/core";
import { memoryStore } from "@onceward/store-memory";
import { postgresStore } from "@onceward/store-postgres";
import { redisStore } from "@onceward/store-redis";
import { Redis } from "ioredis";
import { Redis as Redis6 } from "ioredis-6";
import pg from "pg";
import { createClient } from "redis";
import type { MakeSubject, Places, Subject, Work } from "../subject.ts";
import { poolSize } from "./raw-postgres.ts";

interface Extras extends Omit<OncewardOptions, "store"> {
  /** The work is done in this many recorded steps. */
  readonly steps?: number;
  /** Somebody listens to all events. */
  readonly listen?: boolean;
}

/** An Onceward with its defaults, as users write it. */
function subject(work: Work, store: Store, disconnect: () => unknown, extras: Extras = {}): Subject {
  const { steps = 0, listen = false, ...options } = extras;
  const once = onceward({ store, maxWaiters: 100_000, sweepIntervalMs: 0, ...options });
  let heard = 0;
  if (listen) once.on("*", () => heard++);
  return {
    request: async (key, payload) => {
      const { value } = await once.run(
        { operation: "POST /orders", scope: "tenant-1", key, payload },
        async (context) => {
          for (let step = 1; step <= steps; step++) await context.step(`step ${step}`, () => step);
          return work(payload);
        },
      );
      return value;
    },
    ...(store.sweep && { sweep: (limit: number) => store.sweep?.(limit) ?? Promise.resolve(0) }),
    close: async () => {
      await once.close();
      await disconnect();
    },
  };
}

const onMemory =
  (extras?: Extras): MakeSubject =>
  async (work) =>
    subject(work, memoryStore({ maxRecords: Number.POSITIVE_INFINITY }), () => {}, extras);

const onIoredis =
  (connect: (url: string) => Redis, extras?: Extras): MakeSubject =>
  async (work, places) => {
    const client = connect(url(places));
    return subject(work, redisStore({ client }), () => client.quit(), extras);
  };

const url = ({ redisUrl }: Places): string => redisUrl ?? "";
const codec = () =>
  aesGcmCodec({ keys: { now: new Uint8Array(32).fill(7) }, current: "now", hmacSecret: new Uint8Array(32).fill(9) });

export const oncewardMemory = onMemory();
export const oncewardMemoryEvents = onMemory({ listen: true });
export const oncewardMemoryCodec = onMemory({ codec: codec() });
export const oncewardMemorySteps = onMemory({ steps: 1 });
export const oncewardMemoryBrief = onMemory({ ttlMs: 1 });
export const oncewardIoredis5 = onIoredis((at) => new Redis(at));
export const oncewardIoredis5Pipelining = onIoredis((at) => new Redis(at, { enableAutoPipelining: true }));
export const oncewardIoredis5Codec = onIoredis((at) => new Redis(at), { codec: codec() });
export const oncewardIoredis5Steps = onIoredis((at) => new Redis(at), { steps: 1 });
export const oncewardIoredis5Nesting = onIoredis((at) => new Redis(at), { detectNesting: true });
export const oncewardMemoryNesting = onMemory({ detectNesting: true });
export const oncewardIoredis6 = onIoredis((at) => new Redis6(at) as unknown as Redis);
export const oncewardIoredis5Alone = onIoredis((at) => new Redis(at), { join: false });

const onNodeRedis =
  (extras?: Extras): MakeSubject =>
  async (work, places) => {
    const client = createClient({ url: url(places) });
    await client.connect();
    return subject(work, redisStore({ client }), () => client.close(), extras);
  };

export const oncewardNodeRedis = onNodeRedis();

const onPostgres =
  (extras?: Extras): MakeSubject =>
  async (work, { postgresUrl }) => {
    const pool = new pg.Pool({ connectionString: postgresUrl, max: poolSize });
    const store = postgresStore({ client: pool });
    await store.migrate();
    return subject(work, store, () => pool.end(), extras);
  };

export const oncewardPostgres = onPostgres();
export const oncewardPostgresAlone = onPostgres({ join: false });

export const oncewardPglite: MakeSubject = async (work) => {
  const database = await PGlite.create();
  const store = postgresStore({ client: database });
  await store.migrate();
  return subject(work, store, () => database.close());
};
