import { type Compared, compare } from "./compare.ts";
import type { Scenario } from "./measure.ts";
import type { Cell, SuiteContext, SuiteResult, Table } from "./result.ts";
import type { Places } from "./subject.ts";
import type { SubjectName } from "./subjects/index.ts";
import { Worker } from "./workers.ts";

/** What kind of requests, how many at once, how large. */
export interface Setting {
  readonly scenario: Scenario;
  readonly concurrency: number;
  readonly bodyBytes: number;
}

interface Grid {
  readonly context: SuiteContext;
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly places: Places;
  /** The first is the baseline; it comes twice (A/A). */
  readonly lineup: readonly (readonly [label: string, subject: SubjectName])[];
  readonly settings?: readonly Setting[];
  /** Called before every slice of new keys. */
  readonly empty: () => Promise<unknown>;
}

const KIB = 1_024;
const usual = { concurrency: 50, bodyBytes: 200 } as const;
/** Just below the limit of 1 MiB for outcomes, in which the rest of the value counts too. */
const large = { concurrency: 8, bodyBytes: 1_000 * KIB } as const;
const defaultSettings: readonly Setting[] = [
  ...(["new", "replay", "conflict"] as const).map((scenario) => ({ scenario, ...usual })),
  ...[1, 500].flatMap((concurrency) =>
    (["new", "replay", "conflict"] as const).map((scenario) => ({ scenario, concurrency, bodyBytes: 200 })),
  ),
  ...(["new", "replay"] as const).map((scenario) => ({ scenario, concurrency: 50, bodyBytes: 16 * KIB })),
  ...(["new", "replay"] as const).map((scenario) => ({ scenario, ...large })),
];

/** Raw clients have nothing to compare a payload with, and neither has Powertools on Redis. */
const compares = (subject: SubjectName) => !/^raw|Powertools/.test(subject);
/** Measured in the usual setting only. */
const isVariant = (subject: SubjectName) => /AES|step|pipelining|detectNesting/.test(subject);

/** Measures the whole line-up in every setting. */
export async function compareOn(grid: Grid): Promise<SuiteResult> {
  const { context, lineup, settings = defaultSettings } = grid;
  const workers: Worker[] = [];
  const cells = new Map<Setting, Compared[]>();
  try {
    for (const [label, subject] of lineup) workers.push(await Worker.start(subject, grid.places, { label }));
    context.progress(`${grid.title}: warming up`);
    for (const worker of workers) await worker.warmUp();
    for (const setting of settings) {
      const { scenario, concurrency, bodyBytes } = setting;
      context.progress(`${grid.title}: ${scenario}, ${concurrency} at once, ${bodyBytes} B`);
      const isUsual = concurrency === usual.concurrency && bodyBytes === usual.bodyBytes;
      const chosen = workers.filter(
        ({ subject }) => (scenario !== "conflict" || compares(subject)) && (isUsual || !isVariant(subject)),
      );
      await grid.empty();
      for (const worker of chosen) await worker.ask({ ask: "forget" });
      if (scenario !== "new") for (const worker of chosen) await worker.keep(bodyBytes);
      cells.set(setting, await compare(chosen, setting, context, grid.empty));
    }
  } finally {
    await Promise.all(workers.map((worker) => worker.close().catch(() => {})));
  }
  return { tables: tablesOf(grid, cells), figures: figuresOf(cells) };
}

function figuresOf(cells: ReadonlyMap<Setting, Compared[]>): Record<string, number> {
  const figures: Record<string, number> = {};
  for (const [{ scenario, concurrency, bodyBytes }, compared] of cells)
    for (const { label, throughput } of compared)
      figures[`${scenario} ${concurrency} ${bodyBytes} ${label}`] = throughput.median;
  return figures;
}

function tablesOf({ id, title, about, lineup }: Grid, cells: ReadonlyMap<Setting, Compared[]>): Table[] {
  const labels = lineup.map(([label]) => label);
  const table = (
    tableId: string,
    heading: string,
    text: string,
    choose: (setting: Setting) => boolean,
    columns: (setting: Setting, compared: Compared) => [column: string, cell: Cell][],
  ): Table => {
    const chosen = [...cells].filter(([setting]) => choose(setting));
    const names = new Set<string>();
    const rows = labels.map((label) => {
      const row = new Map<string, Cell>();
      for (const [setting, compared] of chosen) {
        const own = compared.find((one) => one.label === label);
        for (const [column, cell] of own ? columns(setting, own) : []) {
          names.add(column);
          row.set(column, cell);
        }
      }
      return [label, row] as const;
    });
    return {
      id: tableId,
      title: heading,
      about: text,
      columns: ["", ...names],
      rows: rows
        .filter(([, row]) => row.size > 0)
        .map(([label, row]) => [label, ...[...names].map((name) => row.get(name) ?? null)]),
    };
  };
  const isUsual = ({ concurrency, bodyBytes }: Setting) => concurrency === 50 && bodyBytes === 200;
  const all = [
    table(id, `${title}: 50 requests at once, 200 B`, about, isUsual, ({ scenario }, one) => [
      [scenario, one.throughput],
      [`${scenario}, CPU µs`, one.cpuMicros],
      [`${scenario}, p99 µs`, one.p99Micros],
    ]),
    table(
      `${id}-concurrency`,
      `${title}: 1 and 500 at once, 200 B`,
      "Requests a second beside the first row, which did the same.",
      ({ concurrency, bodyBytes }) => bodyBytes === 200 && concurrency !== 50,
      ({ scenario, concurrency }, one) => [[`${scenario}, ${concurrency}`, one.throughput]],
    ),
    table(
      `${id}-bodies`,
      `${title}: payloads and results of 16 kB (50 at once) and 1 MB (8 at once)`,
      "Requests a second beside the first row. Payloads are fingerprinted, results stored and given back.",
      ({ bodyBytes }) => bodyBytes > 200,
      ({ scenario, bodyBytes }, one) => [[`${scenario}, ${bodyBytes > 100 * KIB ? "1 MB" : "16 kB"}`, one.throughput]],
    ),
  ];
  return all.filter(({ columns }) => columns.length > 1);
}
