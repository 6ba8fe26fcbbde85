import type { Framework, Guarded } from "../http/apps.ts";
import type { Load, LoadOptions } from "../http/load.ts";
import type { ServerState } from "../http/server.ts";
import { clientCore, serverCore } from "../pin.ts";
import type { Cell, Suite, SuiteContext, Table } from "../result.ts";
import { median, type Ratio, ratioOf } from "../statistics.ts";
import { Child } from "../workers.ts";

const frameworks: readonly Framework[] = ["Fastify", "Hono", "Express"];
/** What is measured in each framework; each is compared with the bare handler under the same load. */
const rows = [
  { label: "bare handler", server: "bare", keys: "new" },
  { label: "bare handler (A/A)", server: "bare again", keys: "new" },
  { label: "new key", server: "Onceward", keys: "new" },
  { label: "replay", server: "Onceward", keys: "kept" },
  { label: "bare handler, no key", server: "bare", keys: "none" },
  { label: "bare handler, no key (A/A)", server: "bare again", keys: "none" },
  { label: "a plugin or middleware that does nothing", server: "idle", keys: "none" },
  { label: "no key", server: "Onceward", keys: "none" },
] as const;
type Row = (typeof rows)[number];

interface Sample {
  readonly perSecond: number;
  readonly cpuMicros: number;
  readonly p99Micros: number;
}

export const httpSuite: Suite = {
  name: "http",
  async run(context) {
    const load = new Child("load", { core: serverCore });
    await load.ready;
    const figures: Record<string, number> = {};
    const tables: Table[] = [];
    for (const framework of frameworks) {
      const samples = await measure(framework, load, context);
      const cells = rows.map((row) => [row.label, ...compared(row, samples, figures, framework)] as Cell[]);
      tables.push({
        id: `http-${framework.toLowerCase()}`,
        title: `${framework}, 50 connections, 200 B, memory store`,
        about: "Beside the bare handler under the same load; the server has one core, the load the other.",
        columns: ["", "requests a second", "CPU of the server", "CPU µs", "p99 µs"],
        rows: cells,
      });
    }
    load.end();
    return { tables, figures };
  },
};

async function measure(framework: Framework, load: Child, context: SuiteContext): Promise<Map<Row, Sample[]>> {
  context.progress(`HTTP: ${framework}`);
  const servers = new Map<string, { child: Child; port: number }>();
  const samples = new Map<Row, Sample[]>(rows.map((row) => [row, []]));
  try {
    for (const name of ["bare", "bare again", "idle", "Onceward"]) {
      const child = new Child("server", { core: clientCore });
      await child.ready;
      const guarded: Guarded = name === "bare again" ? "bare" : (name as Guarded);
      const port = await child.ask<number>({ ask: "open", framework, guarded });
      servers.set(name, { child, port });
    }
    // HTTP varies more than bare calls, so that there are longer slices; two rounds warm up.
    for (let round = -2; round < context.rounds; round++) {
      for (let turn = 0; turn < rows.length; turn++) {
        const row = rows[(turn + round + rows.length) % rows.length] as Row;
        const sample = await slice(row, servers.get(row.server) as never, load, framework, context.sliceMs * 2);
        if (round >= 0) samples.get(row)?.push(sample);
      }
    }
  } finally {
    for (const { child } of servers.values()) child.end();
  }
  return samples;
}

async function slice(
  { keys, label, server: name }: Row,
  server: { child: Child; port: number },
  load: Child,
  framework: Framework,
  durationMs: number,
): Promise<Sample> {
  const state = () => server.child.ask<ServerState>({ ask: "state" });
  const before = await state();
  const options: LoadOptions = { port: server.port, connections: 50, durationMs, keys, series: "kept" };
  const { requests, replays, perSecond, p99Micros } = await load.ask<Load>({ options });
  const after = await state();
  const executions = after.executions - before.executions;
  const isProtected = name === "Onceward" && keys !== "none";
  if (executions + (isProtected ? replays : 0) !== requests) {
    throw new Error(`${framework}, ${label}: ${requests} requests, ${executions} executions, ${replays} replays`);
  }
  return { perSecond, p99Micros, cpuMicros: (after.cpuMicros - before.cpuMicros) / requests };
}

function compared(
  row: Row,
  samples: Map<Row, Sample[]>,
  figures: Record<string, number>,
  framework: Framework,
): Cell[] {
  const kind = (one: Row) => (one.keys === "none" ? "none" : "key");
  const bases = rows.filter((one) => one.server.startsWith("bare") && kind(one) === kind(row));
  const base = (pick: (sample: Sample) => number) =>
    (samples.get(row) ?? []).map((_, round) => {
      const values = bases.map((one) => pick((samples.get(one) ?? [])[round] as Sample));
      return values.reduce((sum, value) => sum + value, 0) / values.length;
    });
  const own = (pick: (sample: Sample) => number) => (samples.get(row) ?? []).map(pick);
  const ratio = (pick: (sample: Sample) => number): Ratio => ratioOf(own(pick), base(pick));
  const throughput = ratio(({ perSecond }) => perSecond);
  figures[`${framework}, ${row.label}`] = throughput.median;
  return [
    throughput,
    ratio(({ cpuMicros }) => cpuMicros),
    median(own(({ cpuMicros }) => cpuMicros)),
    median(own(({ p99Micros }) => p99Micros)),
  ];
}
