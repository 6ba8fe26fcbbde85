import { type Compared, compare } from "../compare.ts";
import type { Scenario } from "../measure.ts";
import type { Cell, Suite, SuiteContext, Table } from "../result.ts";
import { benchRedis } from "../servers.ts";
import type { SubjectName } from "../subjects/index.ts";
import { Worker } from "../workers.ts";

const KIB = 1_024;
/** The first is the baseline, measured twice (A/A). */
const lineup: [label: string, subject: SubjectName][] = [
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
];
/** Has nothing to compare a payload with. */
const can = (subject: SubjectName, scenario: Scenario) => scenario !== "conflict" || !/^raw|Powertools/.test(subject);
/** Too slow to be repeated, and no candidate for "the best peer". */
const isExtra = (subject: SubjectName) => /AES|step|pipelining/.test(subject);

export const redisSuite: Suite = {
  name: "redis",
  async run(context) {
    const redis = await benchRedis();
    const workers: Worker[] = [];
    try {
      for (const [label, subject] of lineup) {
        workers.push(await Worker.start(subject, { redisUrl: redis.url }, { label }));
      }
      const flush = () => redis.command("FLUSHALL");
      const cells = new Map<string, Compared[]>();
      for (const { scenario, concurrency, bodyBytes } of settings) {
        context.progress(`Redis: ${scenario}, concurrency ${concurrency}, ${bodyBytes} B`);
        const chosen = workers.filter(
          ({ subject }) => can(subject, scenario) && (!isExtra(subject) || (concurrency === 50 && bodyBytes === 200)),
        );
        await flush();
        if (scenario !== "new") for (const worker of chosen) await worker.keep(bodyBytes);
        const compared = await compare(chosen, { scenario, concurrency, bodyBytes }, context, flush);
        cells.set(`${scenario} ${concurrency} ${bodyBytes}`, compared);
      }
      return resultOf(cells, context);
    } finally {
      await Promise.all(workers.map((worker) => worker.close().catch(() => {})));
      await redis.stop();
    }
  },
};

const settings: { scenario: Scenario; concurrency: number; bodyBytes: number }[] = [
  ...[50, 1, 500].flatMap((concurrency) =>
    (["new", "replay", "conflict"] as const).map((scenario) => ({ scenario, concurrency, bodyBytes: 200 })),
  ),
  ...(["new", "replay"] as const).map((scenario) => ({ scenario, concurrency: 50, bodyBytes: 16 * KIB })),
  ...(["new", "replay"] as const).map((scenario) => ({ scenario, concurrency: 8, bodyBytes: 1_000 * KIB })),
];

function resultOf(cells: Map<string, Compared[]>, _context: SuiteContext) {
  const figures: Record<string, number> = {};
  const of = (cell: string, label: string) => cells.get(cell)?.find((compared) => compared.label === label);
  for (const [cell, compared] of cells)
    for (const { label, throughput, perSecond, cpuMicros } of compared) {
      figures[`${cell}: ${label}`] = throughput.median;
      figures[`${cell}: ${label}, per second`] = perSecond;
      figures[`${cell}: ${label}, CPU µs`] = cpuMicros;
    }
  const pick = (cell: string, label: string, what: (compared: Compared) => Cell): Cell => {
    const compared = of(cell, label);
    return compared ? what(compared) : null;
  };
  const labels = lineup.map(([label]) => label);
  const columnsOf = (what: readonly [column: string, cell: string][], id: string, title: string, about: string): Table => ({
    id,
    title,
    about,
    columns: ["", ...what.map(([column]) => column)],
    rows: labels
      .map((label) => [label, ...what.map(([, cell]) => pick(cell, label, ({ throughput }) => throughput))])
      .filter((row) => row.some((value, index) => index > 0 && value !== null)),
  });
  return {
    figures,
    tables: [
      columnsOf(
        [["new", "new 50 200"], ["replay", "replay 50 200"]],
        "redis",
        "Redis, 50 requests at once, 200 B",
        "Requests a second beside raw ioredis 5 (`SET NX` and `SET`; `GET`).",
      ),
      columnsOf(
        [["new, 1 at once", "new 1 200"], ["replay, 1", "replay 1 200"], ["new, 500", "new 500 200"], ["replay, 500", "replay 500 200"]],
        "redis-concurrency",
        "Redis, 1 and 500 requests at once, 200 B",
        "The same with less and with more at once.",
      ),
    ],
  };
}
