import { compareOn } from "../grid.ts";
import type { Suite, SuiteResult } from "../result.ts";
import { benchRedis } from "../servers.ts";

export const redisSuite: Suite = {
  name: "redis",
  async run(context) {
    const redis = await benchRedis();
    try {
      const result = await compareOn({
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
          ["Onceward, ioredis 5, detectNesting: true", "Onceward, ioredis 5, detectNesting: true"],
          ["Onceward, ioredis 5, AES-GCM", "Onceward, ioredis 5, AES-GCM"],
          ["Onceward, ioredis 5, one step", "Onceward, ioredis 5, one step"],
          ["node-idempotency", "node-idempotency, Redis"],
          ["Powertools", "Powertools, Redis"],
          ["express-idempotency", "express-idempotency, Redis"],
        ],
        about: "Requests a second beside raw ioredis 5 (`SET NX` and `SET`; `GET`).",
        empty: () => redis.command("FLUSHALL"),
      });
      return { ...result, figures: { ...result.figures, ...besidePeers(result.figures) } };
    } finally {
      await redis.stop();
    }
  },
};

/** The best of ours beside the best of those that claim, store and replay; express-idempotency doesn't claim. */
function besidePeers(figures: SuiteResult["figures"]): Record<string, number> {
  const best = (scenario: string, labels: readonly string[]) =>
    Math.max(...labels.map((label) => figures[`${scenario} 50 200 ${label}`] ?? 0));
  const ours = Object.keys(figures)
    .map((figure) => /^new 50 200 (Onceward, .*)$/.exec(figure)?.[1])
    .filter((label) => label !== undefined);
  return Object.fromEntries(
    ["new", "replay"].map((scenario) => [
      `best ${scenario} beside peers`,
      best(scenario, ours) / best(scenario, ["node-idempotency", "Powertools"]),
    ]),
  );
}
