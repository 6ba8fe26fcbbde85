import { defineConfig } from "vitest/config";
import { reporters } from "../../vitest.config.ts";

// A run of its own (`pnpm test:packed`), because it needs the build and an installer; `pnpm test` needs neither.
export default defineConfig({
  test: {
    name: "consumers",
    root: import.meta.dirname,
    globalSetup: ["./setup.ts"],
    // Each test starts compilers and processes of its own.
    testTimeout: 120_000,
    hookTimeout: 300_000,
    reporters,
  },
});
