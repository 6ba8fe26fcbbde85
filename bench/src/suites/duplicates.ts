import type { Suite } from "../result.ts";
import { benchPostgres, benchRedis } from "../servers.ts";
import { median } from "../statistics.ts";
import { keyOf } from "../subject.ts";
import type { SubjectName } from "../subjects/index.ts";
import { type Duplicates, Worker } from "../workers.ts";

const subjects: readonly SubjectName[] = ["Onceward, memory", "Onceward, ioredis 5", "Onceward, Postgres"];

export const duplicatesSuite: Suite = {
  name: "duplicates",
  async run(context) {
    const [redis, postgres] = [await benchRedis(), await benchPostgres()];
    const rows: [string, number, number][] = [];
    try {
      for (const subject of subjects) {
        context.progress(`Duplicates: ${subject}`);
        const worker = await Worker.start(subject, { redisUrl: redis.url, postgresUrl: postgres.url });
        const few = await medianTime(worker, 50, context.rounds * 4);
        const many = await medianTime(worker, 10_000, context.rounds);
        rows.push([subject, few, many]);
        await worker.close();
      }
    } finally {
      await Promise.all([redis.stop(), postgres.stop()]);
    }
    return {
      figures: Object.fromEntries(
        rows.flatMap(([label, few, many]) => [
          [`${label} 50`, few],
          [`${label} 10000`, many],
        ]),
      ),
      tables: [
        {
          id: "duplicates",
          title: "Many duplicates of one key in one process",
          about: "One execution each. Milliseconds from the end of the work to the last answer, its own included.",
          columns: ["", "50 duplicates, ms", "10,000 duplicates, ms"],
          rows,
        },
      ],
    };
  },
};

async function medianTime(worker: Worker, count: number, rounds: number): Promise<number> {
  const times: number[] = [];
  for (let round = -2; round < rounds; round++) {
    await worker.ask({ ask: "hold" });
    const all = worker.ask<Duplicates>({
      ask: "duplicates",
      key: keyOf(`dup${process.pid}-${count}`, round + 2),
      count,
    });
    await new Promise((resolve) => setTimeout(resolve, 10 + count / 50));
    await worker.ask({ ask: "let-go" });
    const { executions, lastAt, workEndedAt } = await all;
    if (executions !== 1) throw new Error(`${worker.label}: ${count} duplicates made ${executions} executions`);
    if (round >= 0) times.push(Number(BigInt(lastAt) - BigInt(workEndedAt)) / 1e6);
  }
  return median(times);
}
