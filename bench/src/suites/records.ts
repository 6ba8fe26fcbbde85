import { freshDatabase } from "@onceward/test-servers";
import pg from "pg";
import { compare } from "../compare.ts";
import type { Cell, Suite, SuiteContext } from "../result.ts";
import { seedPostgres, seedRedis } from "../seed.ts";
import { benchPostgres, benchRedis } from "../servers.ts";
import { Worker } from "../workers.ts";

const sizes = [
  { label: "none", count: 0 },
  { label: "none (A/A)", count: 0 },
  { label: "100,000", count: 100_000 },
  { label: "1,000,000", count: 1_000_000 },
];

export const recordsSuite: Suite = {
  name: "records",
  async run(context) {
    const figures: Record<string, number> = {};
    const rows: Cell[][] = [];
    for (const [store, prepare] of [
      ["memory", inMemory],
      ["Redis", inRedis],
      ["Postgres", inPostgres],
    ] as const) {
      context.progress(`Live records: filling ${store}`);
      const { workers, stop } = await prepare();
      try {
        const compared = {
          new: await measure(workers, "new", store, context),
          replay: await measure(workers, "replay", store, context),
        };
        for (const [index, { label }] of workers.entries()) {
          rows.push([`${store}, ${label}`, compared.new[index] ?? null, compared.replay[index] ?? null]);
        }
        figures[`${store} new`] = compared.new.at(-1)?.median ?? Number.NaN;
        figures[`${store} replay`] = compared.replay.at(-1)?.median ?? Number.NaN;
      } finally {
        await Promise.all(workers.map((worker) => worker.close()));
        await stop();
      }
    }
    return {
      figures,
      tables: [
        {
          id: "records",
          title: "Cost beside many live records",
          about: "Requests a second beside the same store without other records; 50 at once, 200 B.",
          columns: ["", "new", "replay"],
          rows,
        },
      ],
    };
  },
};

interface Prepared {
  readonly workers: Worker[];
  stop(): Promise<unknown>;
}

async function measure(workers: readonly Worker[], scenario: "new" | "replay", store: string, context: SuiteContext) {
  context.progress(`Live records: ${store}, ${scenario}`);
  const options = { scenario, concurrency: 50, bodyBytes: 201 } as const;
  if (scenario === "new") for (const worker of workers) await worker.warmUp();
  if (scenario === "replay") for (const worker of workers) await worker.keep(201);
  const compared = await compare(workers, options, context, async () => {});
  return compared.map(({ throughput }) => throughput);
}

async function inMemory(): Promise<Prepared> {
  const workers: Worker[] = [];
  for (const { label, count } of sizes) {
    const worker = await Worker.start("Onceward, memory", {}, { label });
    await worker.keep(200, count);
    workers.push(worker);
  }
  return { workers, stop: async () => {} };
}

async function inRedis(): Promise<Prepared> {
  const workers: Worker[] = [];
  const servers = await Promise.all(sizes.map(() => benchRedis()));
  for (const [index, { label, count }] of sizes.entries()) {
    const redis = servers[index] as (typeof servers)[number];
    const worker = await Worker.start("Onceward, ioredis 5", { redisUrl: redis.url }, { label });
    await worker.keep(200, 1);
    await seedRedis(redis, count);
    workers.push(worker);
  }
  return { workers, stop: () => Promise.all(servers.map((server) => server.stop())) };
}

async function inPostgres(): Promise<Prepared> {
  const postgres = await benchPostgres();
  const workers: Worker[] = [];
  for (const { label, count } of sizes) {
    const { url } = await freshDatabase(postgres);
    const worker = await Worker.start("Onceward, Postgres", { postgresUrl: url }, { label });
    await worker.keep(200, 1);
    const client = new pg.Client(url);
    await client.connect();
    await seedPostgres((sql) => client.query(sql), count);
    await client.end();
    workers.push(worker);
  }
  return { workers, stop: () => postgres.stop() };
}
