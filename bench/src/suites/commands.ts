import { Redis } from "ioredis";
import type { Suite } from "../result.ts";
import { benchPostgres, benchRedis } from "../servers.ts";
import type { SubjectName } from "../subjects/index.ts";
import { Worker } from "../workers.ts";

const onRedis: readonly SubjectName[] = [
  "raw ioredis 5",
  "Onceward, ioredis 5",
  "Onceward, ioredis 6",
  "Onceward, node-redis 5",
  "node-idempotency, Redis",
  "Powertools, Redis",
  "express-idempotency, Redis",
];
const onPostgres: readonly SubjectName[] = ["raw pg", "Onceward, Postgres"];
const requests = 100;

export const commandsSuite: Suite = {
  name: "commands",
  async run(context) {
    const redis = await countedByRedis(context.progress);
    const postgres = await countedByPostgres(context.progress);
    const figures: Record<string, number> = {};
    for (const [subject, fresh, replay] of [...redis, ...postgres]) {
      figures[`${subject} new`] = fresh;
      figures[`${subject} replay`] = replay;
    }
    const alias = (name: string, subject: SubjectName) => {
      for (const kind of ["new", "replay"]) figures[`${name} ${kind}`] = figures[`${subject} ${kind}`] ?? Number.NaN;
    };
    alias("Redis", "Onceward, ioredis 5");
    alias("Postgres", "Onceward, Postgres");
    return {
      figures,
      tables: [
        {
          id: "commands",
          title: "Commands per request, as the servers count them",
          about:
            "Redis by `MONITOR` (what scripts do inside the server is part of their command), Postgres by `pg_stat_statements`.",
          columns: ["", "new", "replay"],
          rows: [...redis, ...postgres],
        },
      ],
    };
  },
};

type Row = [subject: SubjectName, fresh: number, replay: number];

/** Commands per request; the first requests, which load scripts and prepare statements, don't count. */
async function count(worker: Worker, read: () => Promise<number>): Promise<[fresh: number, replay: number]> {
  await worker.keep(200, 50);
  const start = await read();
  await worker.keep(201, requests);
  const middle = await read();
  await worker.keep(201, requests);
  const end = await read();
  await worker.close();
  return [(middle - start) / requests, (end - middle) / requests];
}

async function countedByRedis(progress: (text: string) => void): Promise<Row[]> {
  const redis = await benchRedis();
  const client = new Redis(redis.url);
  const monitor = await client.monitor();
  let commands = 0;
  let marks = 0;
  monitor.on("monitor", (_time: string, [name]: string[], source: string) => {
    if (name?.toLowerCase() === "echo") marks++;
    else if (source !== "lua") commands++;
  });
  // What the monitor tells comes in order: when it has told of the mark, it has told of all that came before.
  const read = async () => {
    const seen = marks;
    await redis.command("ECHO", "mark");
    while (marks === seen) await new Promise(setImmediate);
    // The connection that asked says hello too.
    await new Promise((resolve) => setTimeout(resolve, 20));
    const counted = commands;
    return counted;
  };
  const rows: Row[] = [];
  try {
    const before = await read();
    const overhead = (await read()) - before;
    for (const subject of onRedis) {
      progress(`Commands: ${subject}`);
      const worker = await Worker.start(subject, { redisUrl: redis.url });
      const [fresh, replay] = await count(worker, read);
      rows.push([subject, fresh - overhead / requests, replay - overhead / requests]);
      await redis.command("FLUSHALL");
    }
  } finally {
    monitor.disconnect();
    client.disconnect();
    await redis.stop();
  }
  return rows;
}

async function countedByPostgres(progress: (text: string) => void): Promise<Row[]> {
  const postgres = await benchPostgres(["shared_preload_libraries = 'pg_stat_statements'"]);
  const rows: Row[] = [];
  try {
    await postgres.query("CREATE EXTENSION pg_stat_statements");
    const read = async () => {
      const [row] = await postgres.query(
        "SELECT coalesce(sum(calls), 0)::float8 AS calls FROM pg_stat_statements WHERE query !~ 'pg_stat_statements'",
      );
      return Number(row?.["calls"]);
    };
    for (const subject of onPostgres) {
      progress(`Commands: ${subject}`);
      const worker = await Worker.start(subject, { postgresUrl: postgres.url });
      rows.push([subject, ...(await count(worker, read))]);
    }
  } finally {
    await postgres.stop();
  }
  return rows;
}
