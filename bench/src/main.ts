/**
 * `bench`: measures everything in a few minutes, prints tables and writes them as JSON. `--full` takes longer and is more
 * exact; `--only redis,http` runs some suites; `--docs [file …]` writes the tables of the last run, or of these (a later
 * one wins), into docs/performance.md.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg, platform, release, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { buildWorkers } from "./build.ts";
import { writeDocs } from "./docs.ts";
import { canPin } from "./pin.ts";
import type { RunResult, SuiteContext, SuiteResult } from "./result.ts";
import { suites } from "./suites/index.ts";
import { tablesOf, tableText } from "./tables.ts";

const folder = fileURLToPath(new URL("../results", import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  // pnpm hands the dashes on that end its own options.
  args: process.argv.slice(2).filter((argument) => argument !== "--"),
  options: { full: { type: "boolean" }, docs: { type: "boolean" }, only: { type: "string" } },
});

if (values.docs) writeDocs(positionals.length > 0 ? positionals : [latest()]);
else await run();

function latest(): string {
  const names = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return `${folder}/${names.sort().pop()}`;
}

async function run(): Promise<void> {
  const full = values.full ?? false;
  const loadBefore = loadText();
  const startedAt = performance.now();
  const progress = (text: string) =>
    process.stderr.write(`${((performance.now() - startedAt) / 1_000).toFixed(0).padStart(4)} s  ${text}\n`);
  const context: SuiteContext = { full, rounds: full ? 11 : 5, sliceMs: full ? 500 : 150, progress };
  const chosen = values.only?.split(",");
  progress(
    canPin ? "Clients on core 0, servers and load on core 1" : "Processes can't be pinned here: expect more noise",
  );
  await buildWorkers();
  const found: Record<string, SuiteResult> = {};
  for (const suite of suites.filter(({ name }) => chosen?.includes(name) ?? true)) {
    found[suite.name] = await suite.run(context);
    for (const table of found[suite.name]?.tables ?? []) process.stdout.write(`${tableText(table)}\n`);
  }
  const result: RunResult = {
    at: new Date().toISOString(),
    mode: full ? "full" : "quick",
    machine: { ...machine(), loadBefore, loadAfter: loadText() },
    suites: found,
  };
  mkdirSync(folder, { recursive: true });
  const file = `${folder}/${result.at.replaceAll(":", "-")}.json`;
  writeFileSync(file, `${JSON.stringify(result, null, 1)}\n`);
  process.stdout.write(`${tableText(tablesOf(result)[0] as never)}\n`);
  progress(`Written to ${file}`);
}

/** What else the machine did: of two cores, more than 2 before the run means that others were at work. */
function loadText(): string {
  return (loadavg()[0] ?? 0).toFixed(1);
}

function machine(): RunResult["machine"] {
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release()}`,
    node: process.version,
    pinned: canPin,
    commit: commit(),
  };
}

function commit(): string {
  try {
    return execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  } catch {
    return "unknown";
  }
}
