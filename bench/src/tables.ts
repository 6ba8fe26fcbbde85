import type { Cell, RunResult, Table } from "./result.ts";
import { verdicts } from "./targets.ts";

/** A table in Markdown, which reads well in a terminal too. */
export function tableText({ title, about, columns, rows }: Table, heading = "###"): string {
  const cells = [columns.map(String), ...rows.map((row) => row.map(cellText))];
  const widths = columns.map((_, column) => Math.max(3, ...cells.map((row) => (row[column] ?? "").length)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join(" | ")} |`;
  const [head = [], ...body] = cells;
  const rule = `|${widths.map((width, column) => (column === 0 ? "-".repeat(width + 2) : `${"-".repeat(width + 1)}:`)).join("|")}|`;
  return [`${heading} ${title}`, "", about, "", line(head), rule, ...body.map(line), ""].join("\n");
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

/** All tables of a run. */
export function tablesOf(result: RunResult): Table[] {
  return [targetTable(result), ...Object.values(result.suites).flatMap(({ tables }) => tables)];
}
