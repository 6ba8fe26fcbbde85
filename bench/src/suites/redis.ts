import { compareOn } from "../grid.ts";
import type { Suite } from "../result.ts";
import { benchRedis } from "../servers.ts";

export const redisSuite: Suite = {
  name: "redis",
  async run(context) {
    const redis = await benchRedis();
    try {
      return await compareOn({
        context,
        id: "redis",
        title: "Redis",
        places: { redisUrl: redis.url },
        lineup: [
          ["raw ioredis 5", "raw ioredis 5"],
          ["raw ioredis 5 (A/A)", "raw ioredis 5"],
          ["raw ioredis 5, auto-pipelining", "raw ioredis 5, auto-pipelining"],
          ["raw ioredis 6", "raw ioredis 6"],
          ["raw node-redis 5", "raw node-redis 5"],
          ["Onceward, ioredis 5", "Onceward, ioredis 5"],
          ["Onceward, ioredis 5, auto-pipelining", "Onceward, ioredis 5, auto-pipelining"],
          ["Onceward, ioredis 6", "Onceward, ioredis 6"],
          ["Onceward, node-redis 5", "Onceward, node-redis 5"],
          ["Onceward, ioredis 5, AES-GCM", "Onceward, ioredis 5, AES-GCM"],
          ["Onceward, ioredis 5, one step", "Onceward, ioredis 5, one step"],
          ["node-idempotency", "node-idempotency, Redis"],
          ["Powertools", "Powertools, Redis"],
          ["express-idempotency", "express-idempotency, Redis"],
        ],
        about: "Requests a second beside raw ioredis 5 (`SET NX` and `SET`; `GET`).",
        empty: () => redis.command("FLUSHALL"),
      });
    } finally {
      await redis.stop();
    }
  },
};
