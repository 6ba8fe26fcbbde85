// Prints `passed failed` of a Vitest JSON report. A skipped test proves nothing: unless may-skip names it, it failed.
import { readFileSync } from "node:fs";

const report = JSON.parse(readFileSync(process.argv[2], "utf8"));
const maySkip = readFileSync(new URL("may-skip", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"))
  .map((line) => new RegExp(line, "i"));

const tests = report.testResults.flatMap((file) => file.assertionResults);
const passed = tests.filter(({ status }) => status === "passed").length;
const skipped = tests.filter(({ status }) => status !== "passed" && status !== "failed");
const excused = skipped.filter(({ fullName }) => maySkip.some((pattern) => pattern.test(fullName)));
for (const test of skipped) {
  console.error(`skipped${excused.includes(test) ? "" : ", which fails the run"}: ${test.fullName}`);
}
console.log(passed, tests.length - passed - excused.length);
