import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { RunResult } from "./result.ts";
import { tablesOf, tableText } from "./tables.ts";

const page = fileURLToPath(new URL("../../docs/performance.md", import.meta.url));

/** Writes every table of a run between its markers in docs/performance.md. Figures there are never typed by hand. */
export function writeDocs(result: RunResult): void {
  const { machine, at, mode } = result;
  const run = [
    `Run of ${at.slice(0, 16).replace("T", " ")} UTC (${mode}), commit ${machine["commit"]}: ${machine["cpu"]}, ${machine["cores"]} cores,`,
    `${machine["memoryGiB"]} GiB, Node ${machine["node"]}, ${machine["pinned"] ? "processes pinned to cores" : "processes not pinned"}.`,
  ].join("\n");
  let text = replaceBetween(readFileSync(page, "utf8"), "run", run);
  for (const table of tablesOf(result)) text = replaceBetween(text, table.id, tableText(table).trim());
  writeFileSync(page, text);
}

function replaceBetween(text: string, id: string, content: string): string {
  const [begin, end] = [`<!-- bench:${id} -->`, `<!-- /bench:${id} -->`];
  const start = text.indexOf(begin);
  const stop = text.indexOf(end);
  if (start < 0 || stop < start) throw new Error(`docs/performance.md has no ${begin} … ${end}`);
  return `${text.slice(0, start + begin.length)}\n${content}\n${text.slice(stop)}`;
}
