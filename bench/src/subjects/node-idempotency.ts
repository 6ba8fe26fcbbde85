import { createRequire } from "node:module";
import type { Idempotency as Engine } from "@node-idempotency/core";
import type { MemoryStorageAdapter } from "@node-idempotency/storage-adapter-memory";
import type { RedisStorageAdapter } from "@node-idempotency/storage-adapter-redis";
import type { MakeSubject, Subject, Work } from "../subject.ts";

// CommonJS whose names Node can't see from an ES module.
const require = createRequire(import.meta.url);

/** As its README shows: `onRequest` before the work, `onResponse` after it. No lease, no owner, no wait by default. */
function subject(work: Work, storage: MemoryStorageAdapter | RedisStorageAdapter, close: () => Promise<void>): Subject {
  const { Idempotency } = require("@node-idempotency/core") as { Idempotency: typeof Engine };
  const idempotency = new Idempotency(storage);
  return {
    request: async (key, payload) => {
      const request = {
        method: "POST",
        path: "/orders",
        headers: { "idempotency-key": key },
        body: payload as unknown as Record<string, unknown>,
      };
      const former = await idempotency.onRequest(request);
      if (former) return former.body;
      const body = await work(payload);
      await idempotency.onResponse(request, { body });
      return body;
    },
    close,
  };
}

export const nodeIdempotencyMemory: MakeSubject = async (work) => {
  const { MemoryStorageAdapter: Adapter } = require("@node-idempotency/storage-adapter-memory") as {
    MemoryStorageAdapter: typeof MemoryStorageAdapter;
  };
  return subject(work, new Adapter(), async () => {});
};

export const nodeIdempotencyRedis: MakeSubject = async (work, { redisUrl }) => {
  const { RedisStorageAdapter: Adapter } = require("@node-idempotency/storage-adapter-redis") as {
    RedisStorageAdapter: typeof RedisStorageAdapter;
  };
  const storage = new Adapter({ url: redisUrl ?? "" });
  await storage.connect();
  return subject(work, storage, () => storage.disconnect());
};
