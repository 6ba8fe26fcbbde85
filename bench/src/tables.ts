import type { Cell, RunResult, Table } from "./result.ts";
import { verdicts } from "./targets.ts";

/** A table in Markdown, which reads well in a terminal too. */
export function tableText(table: Table): string {
  return [`### ${table.title}`, "", table.about, "", ...tableLines(table), ""].join("\n");
}

/** The table alone. */
export function tableLines({ columns, rows }: Pick<Table, "columns" | "rows">): string[] {
  const cells = [columns.map(String), ...rows.map((row) => row.map(cellText))];
  const widths = columns.map((_, column) => Math.max(3, ...cells.map((row) => (row[column] ?? "").length)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join(" | ")} |`;
  const [head = [], ...body] = cells;
  const rule = `|${widths.map((width, column) => (column === 0 ? "-".repeat(width + 2) : `${"-".repeat(width + 1)}:`)).join("|")}|`;
  return [line(head), rule, ...body.map(line)];
}

function cellText(cell: Cell): string {
  if (cell === null) return "–";
  if (typeof cell === "string") return cell;
  if (typeof cell === "number") return numberText(cell);
  return `${cell.median.toFixed(2)}× (${cell.low.toFixed(2)}–${cell.high.toFixed(2)})`;
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return "–";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return Number.isInteger(value) ? String(value) : value.toFixed(value < 10 ? 2 : 1);
}

/** Targets against what was measured. */
export function targetTable(result: RunResult): Table {
  return {
    id: "targets",
    title: "Targets",
    about: "Each from the same run as the tables below.",
    columns: ["", "target", "measured", "met"],
    rows: verdicts(result).map(({ what, target, measured, met }) => [what, target, measured, met]),
  };
}

/** What the README quotes. */
export function summaryTable({ suites }: RunResult): Pick<Table, "columns" | "rows"> {
  const figure = (suite: string, name: string, unit = "×") => {
    const value = suites[suite]?.figures[name];
    return value === undefined ? "–" : `${value.toFixed(2)}${unit}`;
  };
  const row = (what: string, suite: string, label: string): Cell[] => [
    what,
    figure(suite, `new 50 200 ${label}`),
    figure(suite, `replay 50 200 ${label}`),
  ];
  const http = (name: string): Cell[] => [
    `${name} on the memory store, beside the bare handler (without a key ${figure("http", `${name}, no key`)})`,
    figure("http", `${name}, new key`),
    figure("http", `${name}, replay`),
  ];
  return {
    columns: ["requests a second", "new key", "replay"],
    rows: [
      row("Redis (ioredis 5), beside bare `SET NX` + `SET` and `GET`", "redis", "Onceward, ioredis 5"),
      [
        "Redis, best client, beside the best peer that claims, stores and replays",
        figure("redis", "best new beside peers"),
        figure("redis", "best replay beside peers"),
      ],
      row("Postgres, beside a bare `INSERT` + `UPDATE` and `SELECT`", "postgres", "Onceward"),
      ...["Fastify", "Hono", "Express"].map(http),
    ],
  };
}

/** All tables of a run. */
export function tablesOf(result: RunResult): Table[] {
  return [targetTable(result), ...Object.values(result.suites).flatMap(({ tables }) => tables)];
}
