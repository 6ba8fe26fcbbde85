import pg from "pg";
import type { Slice } from "../measure.ts";
import type { Cell, Suite, SuiteContext } from "../result.ts";
import { seedPostgres } from "../seed.ts";
import { benchPostgres } from "../servers.ts";
import { median, ratioOf } from "../statistics.ts";
import { Worker } from "../workers.ts";

const million = 1_000_000;
/** As many as the engine asks for at a time. */
const batch = 1_000;

export const sweepSuite: Suite = {
  name: "sweep",
  async run(context) {
    const postgres = await benchPostgres();
    try {
      context.progress("Sweep: filling memory and Postgres with expired records");
      const memory = await Worker.start("Onceward, memory, TTL of 1 ms", {});
      await memory.keep(200, context.full ? million : 300_000);
      const durable = await Worker.start("Onceward, Postgres", { postgresUrl: postgres.url });
      await durable.keep(200, 1);
      const client = new pg.Client(postgres.url);
      await client.connect();
      await seedPostgres((sql) => client.query(sql), million, true);
      await client.end();
      const rows = [...(await measure("memory", memory, context)), ...(await measure("Postgres", durable, context))];
      await Promise.all([memory.close(), durable.close()]);
      return {
        figures: Object.fromEntries(rows.map((row) => [String(row[0]), Number(row[2])])),
        tables: [
          {
            id: "sweep",
            title: "New requests while expired records are swept",
            about:
              "50 at once, 200 B; the sweep runs without a pause, in batches of 1,000. Redis expires records by itself.",
            columns: ["", "requests a second", "p99 µs", "swept a second"],
            rows,
          },
        ],
      };
    } finally {
      await postgres.stop();
    }
  },
};

async function measure(store: string, worker: Worker, { rounds, sliceMs, progress }: SuiteContext): Promise<Cell[][]> {
  progress(`Sweep: ${store}`);
  const options = { scenario: "new", concurrency: 50, bodyBytes: 200, durationMs: sliceMs } as const;
  const quiet: Slice[] = [];
  const swept: Slice[] = [];
  await worker.slice(options);
  for (let round = 0; round < rounds; round++) {
    quiet.push(await worker.slice(options));
    swept.push(await worker.slice({ ...options, sweepBatch: batch }));
  }
  if (swept.every((slice) => slice.swept === 0)) throw new Error(`${store}: nothing was swept`);
  const perSecond = (slices: readonly Slice[]) => slices.map((slice) => slice.perSecond);
  const p99 = (slices: readonly Slice[]) => median(slices.map((slice) => slice.p99Micros));
  const sweptPerSecond = median(swept.map((slice) => (slice.swept / sliceMs) * 1_000));
  return [
    [`${store}, no sweep`, ratioOf(perSecond(quiet), perSecond(quiet)), p99(quiet), null],
    [`${store}, sweep`, ratioOf(perSecond(swept), perSecond(quiet)), p99(swept), sweptPerSecond],
  ];
}
