import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** `.ci/run` asks for the results as JSON too, to count them whatever the command that ran the tests. */
const jsonFile = process.env["VITEST_JSON_FILE"];

export const reporters: ("default" | ["json", { outputFile: string }])[] = jsonFile
  ? ["default", ["json", { outputFile: jsonFile }]]
  : ["default"];

export default defineConfig({
  test: {
    projects: ["packages/*", "apps/*", "{bench,test/servers}", "examples/*"],
    reporters,
    // Most of a run is waiting for servers and leases, so that two share a core well: 270 s instead of 459 s on two cores.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    coverage: {
      provider: "v8",
      include: ["packages/core/src/**", "packages/store-memory/src/**"],
      exclude: ["**/generated/**"],
      reporter: ["text", "html"],
      reportOnFailure: true,
      thresholds: {
        "packages/core/src/**": { branches: 100 },
        "packages/store-memory/src/**": { branches: 100 },
      },
    },
  },
});
