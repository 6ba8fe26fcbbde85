import type { Slice } from "../measure.ts";
import type { Cell, Suite } from "../result.ts";
import { benchPostgres, benchRedis } from "../servers.ts";
import type { SubjectName } from "../subjects/index.ts";
import { Worker } from "../workers.ts";

const subjects: readonly SubjectName[] = [
  "raw Map",
  "Onceward, memory",
  "node-idempotency, memory",
  "raw ioredis 5",
  "Onceward, ioredis 5",
  "Onceward, node-redis 5",
  "node-idempotency, Redis",
  "Powertools, Redis",
  "raw pg",
  "Onceward, Postgres",
];
/** A young generation that holds all that is allocated, so that nothing is collected while it is counted. */
const roomy = ["--expose-gc", "--max-semi-space-size=512", "--min-semi-space-size=512"];

export const costsSuite: Suite = {
  name: "costs",
  async run(context) {
    const [redis, postgres] = [await benchRedis(), await benchPostgres()];
    const rows: Cell[][] = [];
    try {
      for (const subject of subjects) {
        context.progress(`Costs: ${subject}`);
        const worker = await Worker.start(
          subject,
          { redisUrl: redis.url, postgresUrl: postgres.url },
          { flags: roomy },
        );
        await worker.warmUp();
        const row: Cell[] = [subject];
        for (const scenario of ["new", "replay"] as const) {
          const options = { scenario, concurrency: 1, bodyBytes: 200, durationMs: context.sliceMs };
          row.push(await worker.ask<number>({ ask: "allocations", options, requests: 2_000 }));
          const slice: Slice = await worker.slice({ ...options, concurrency: 50, durationMs: 300, eventLoop: true });
          row.push(slice.cpuMicros, slice.eventLoopP99Micros);
        }
        rows.push(row);
        await worker.close();
      }
    } finally {
      await Promise.all([redis.stop(), postgres.stop()]);
    }
    return {
      figures: {},
      tables: [
        {
          id: "costs",
          title: "What a request costs the process",
          about:
            "Bytes allocated one at a time; CPU time and p99 of the event loop's delay at 50 at once. No ratios: one process each, not interleaved.",
          columns: ["", "new, B", "CPU µs", "loop p99 µs", "replay, B", "CPU µs", "loop p99 µs"],
          rows,
        },
      ],
    };
  },
};
