import type { Suite } from "../result.ts";
import { benchPostgres, benchRedis } from "../servers.ts";
import type { SubjectName } from "../subjects/index.ts";
import { Worker } from "../workers.ts";

const records = 10_000;

export const bytesSuite: Suite = {
  name: "bytes",
  async run(context) {
    context.progress("Bytes per record");
    const rows: [string, number][] = [];
    for (const subject of ["Onceward, memory", "node-idempotency, memory", "raw Map"] as const) {
      const worker = await Worker.start(subject, {});
      rows.push([subject, await worker.ask<number>({ ask: "heap", records: 2 * records, bodyBytes: 200 })]);
      await worker.close();
    }
    rows.push(...(await inRedis()), ...(await inPostgres()));
    return {
      figures: { memory: rows[0]?.[1] ?? Number.NaN, ...Object.fromEntries(rows) },
      tables: [
        {
          id: "bytes",
          title: "Bytes per record of a 200 B result",
          about:
            "Memory: growth of the heap and of buffers. Redis: growth of `used_memory`. Postgres: table, indexes and TOAST, before any vacuum.",
          columns: ["", "bytes"],
          rows,
        },
      ],
    };
  },
};

async function inRedis(): Promise<[string, number][]> {
  const redis = await benchRedis();
  const used = async () => Number(/used_memory:(\d+)/.exec(String(await redis.command("INFO", "memory")))?.[1]);
  const rows: [string, number][] = [];
  const subjects: readonly SubjectName[] = [
    "Onceward, ioredis 5",
    "raw ioredis 5",
    "node-idempotency, Redis",
    "Powertools, Redis",
  ];
  for (const subject of subjects) {
    const worker = await Worker.start(subject, { redisUrl: redis.url });
    await redis.command("FLUSHALL", "SYNC");
    await worker.keep(201, 50);
    const before = await used();
    await worker.keep(200, records);
    rows.push([subject, ((await used()) - before) / records]);
    await worker.close();
  }
  await redis.stop();
  return rows;
}

async function inPostgres(): Promise<[string, number][]> {
  const postgres = await benchPostgres();
  const rows: [string, number][] = [];
  for (const [subject, table] of [
    ["Onceward, Postgres", "onceward.records"],
    ["raw pg", "raw"],
  ] as const) {
    const worker = await Worker.start(subject, { postgresUrl: postgres.url });
    await worker.keep(200, records);
    const [row] = await postgres.query("SELECT pg_total_relation_size($1)::float8 AS bytes", [table]);
    rows.push([subject, Number(row?.["bytes"]) / records]);
    await worker.close();
  }
  await postgres.stop();
  return rows;
}
