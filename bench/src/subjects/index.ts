import type { MakeSubject } from "../subject.ts";
import { expressIdempotencyRedis } from "./express-idempotency.ts";
import { nodeIdempotencyMemory, nodeIdempotencyRedis } from "./node-idempotency.ts";
import * as onceward from "./onceward.ts";
import { powertoolsRedis } from "./powertools.ts";
import { rawMap } from "./raw-map.ts";
import { rawPg, rawPglite } from "./raw-postgres.ts";
import { rawIoredis5, rawIoredis5Pipelining, rawIoredis6, rawNodeRedis } from "./raw-redis.ts";

/** Every subject by the name that tables show. */
export const subjects = {
  "raw Map": rawMap,
  "raw ioredis 5": rawIoredis5,
  "raw ioredis 5, auto-pipelining": rawIoredis5Pipelining,
  "raw ioredis 6": rawIoredis6,
  "raw node-redis 5": rawNodeRedis,
  "raw pg": rawPg,
  "raw PGlite": rawPglite,
  "Onceward, memory": onceward.oncewardMemory,
  "Onceward, memory, a listener": onceward.oncewardMemoryEvents,
  "Onceward, memory, AES-GCM": onceward.oncewardMemoryCodec,
  "Onceward, memory, one step": onceward.oncewardMemorySteps,
  "Onceward, memory, TTL of 1 ms": onceward.oncewardMemoryBrief,
  "Onceward, ioredis 5": onceward.oncewardIoredis5,
  "Onceward, ioredis 5, auto-pipelining": onceward.oncewardIoredis5Pipelining,
  "Onceward, ioredis 5, AES-GCM": onceward.oncewardIoredis5Codec,
  "Onceward, ioredis 5, one step": onceward.oncewardIoredis5Steps,
  "Onceward, ioredis 5, join: false": onceward.oncewardIoredis5Alone,
  "Onceward, ioredis 6": onceward.oncewardIoredis6,
  "Onceward, node-redis 5": onceward.oncewardNodeRedis,
  "Onceward, memory, detectNesting: true": onceward.oncewardMemoryNesting,
  "Onceward, ioredis 5, detectNesting: true": onceward.oncewardIoredis5Nesting,
  "Onceward, Postgres": onceward.oncewardPostgres,
  "Onceward, Postgres, join: false": onceward.oncewardPostgresAlone,
  "Onceward, PGlite": onceward.oncewardPglite,
  "node-idempotency, memory": nodeIdempotencyMemory,
  "node-idempotency, Redis": nodeIdempotencyRedis,
  "Powertools, Redis": powertoolsRedis,
  "express-idempotency, Redis": expressIdempotencyRedis,
} satisfies Record<string, MakeSubject>;

export type SubjectName = keyof typeof subjects;
