import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { RunResult } from "./result.ts";
import { summaryTable, tableLines, tablesOf, tableText } from "./tables.ts";

const readme = fileURLToPath(new URL("../../README.md", import.meta.url));
const page = fileURLToPath(new URL("../../docs/performance.md", import.meta.url));

/** Writes the tables of runs between their markers in docs/performance.md. Figures there are never typed by hand. */
export function writeDocs(files: readonly string[]): void {
  const runs = files.map((file) => JSON.parse(readFileSync(file, "utf8")) as RunResult);
  const suites = Object.assign({}, ...runs.map((run) => run.suites)) as RunResult["suites"];
  const last = runs.at(-1) as RunResult;
  let text = replaceBetween(readFileSync(page, "utf8"), "run", runs.map(runText).join("\n"));
  for (const table of tablesOf({ ...last, suites })) text = replaceBetween(text, table.id, tableText(table).trim());
  writeFileSync(page, text);
  const summary = tableLines(summaryTable({ ...last, suites })).join("\n");
  writeFileSync(readme, replaceBetween(readFileSync(readme, "utf8"), "summary", summary));
}

function runText({ machine, at, mode, suites }: RunResult): string {
  const when = `${at.slice(0, 16).replace("T", " ")} UTC`;
  const where = `${machine["cpu"]}, ${machine["cores"]} cores, ${machine["memoryGiB"]} GiB, Node ${machine["node"]}`;
  const load = `load average ${machine["loadBefore"]} before and ${machine["loadAfter"]} after`;
  return `- ${when}, ${mode}, commit ${machine["commit"]} (${Object.keys(suites).join(", ")}): ${where}, ${machine["pinned"] ? "pinned" : "not pinned"}, ${load}.`;
}

function replaceBetween(text: string, id: string, content: string): string {
  const [begin, end] = [`<!-- bench:${id} -->`, `<!-- /bench:${id} -->`];
  const start = text.indexOf(begin);
  const stop = text.indexOf(end);
  if (start < 0 || stop < start) throw new Error(`There is no ${begin} … ${end}`);
  return `${text.slice(0, start + begin.length)}\n${content}\n${text.slice(stop)}`;
}
