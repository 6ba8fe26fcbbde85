import type { Suite, SuiteContext } from "../result.ts";
import { benchPostgres, benchRedis } from "../servers.ts";
import { quantile } from "../statistics.ts";
import { keyOf, type Places } from "../subject.ts";
import type { SubjectName } from "../subjects/index.ts";
import { type Duplicates, Worker } from "../workers.ts";

const waiters = 50;
/** Long enough for all to wait; how long it takes is not measured. */
const settleMs = 25;

export const waitersSuite: Suite = {
  name: "waiters",
  async run(context) {
    const [redis, postgres] = [await benchRedis(), await benchPostgres()];
    const atRedis = { redisUrl: redis.url };
    const atPostgres = { postgresUrl: postgres.url };
    try {
      const measured = [
        { label: "Redis", ...(await measure("Onceward, ioredis 5", atRedis, context)) },
        {
          label: "Redis, each waiter on its own",
          ...(await measure("Onceward, ioredis 5, join: false", atRedis, context)),
        },
        { label: "Postgres", ...(await measure("Onceward, Postgres", atPostgres, context)) },
        {
          label: "Postgres, each waiter on its own",
          ...(await measure("Onceward, Postgres, join: false", atPostgres, context)),
        },
      ];
      return {
        figures: Object.fromEntries(measured.map(({ label, p99 }) => [`${label} p99 ms`, p99])),
        tables: [
          {
            id: "waiters",
            title: "From the first's end to the last of 50 waiters in another process",
            about: `Milliseconds from the return of the work in one process to the answer of the last waiter in the other, over ${context.full ? "many" : "some"} keys. On their own (\`join: false\`), all 50 ask the store.`,
            columns: ["", "p50 ms", "p99 ms", "keys"],
            rows: measured.map(({ label, p50, p99, keys }) => [label, p50, p99, keys]),
          },
        ],
      };
    } finally {
      await Promise.all([redis.stop(), postgres.stop()]);
    }
  },
};

async function measure(subject: SubjectName, places: Places, context: SuiteContext) {
  context.progress(`Waiters: ${subject}`);
  const runner = await Worker.start(subject, places);
  const others = await Worker.start(subject, places);
  await Promise.all([runner.keep(200, 50), others.keep(200, 50)]);
  const keys = context.full ? 500 : 100;
  const times: number[] = [];
  try {
    for (let round = -5; round < keys; round++) {
      const key = keyOf(`waiters${subject.length}`, round + 5);
      const before = await runner.ask<number>({ ask: "executions" });
      await runner.ask({ ask: "hold" });
      const first = runner.ask<Duplicates>({ ask: "duplicates", key, count: 1 });
      while ((await runner.ask<number>({ ask: "executions" })) === before) await sleep(1);
      const rest = others.ask<Duplicates>({ ask: "duplicates", key, count: waiters });
      await sleep(settleMs);
      await runner.ask({ ask: "let-go" });
      const [{ workEndedAt, executions }, { lastAt, executions: second }] = await Promise.all([first, rest]);
      if (executions !== 1 || second !== 0) throw new Error(`${subject}: ran ${executions} and ${second} times`);
      if (round >= 0) times.push(Number(BigInt(lastAt) - BigInt(workEndedAt)) / 1e6);
    }
  } finally {
    await Promise.all([runner.close(), others.close()]);
  }
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99), keys };
}

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
