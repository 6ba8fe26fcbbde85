import { defineProject } from "vitest/config";

export default defineProject({
  test: {
    globalSetup: "./test/global-setup.ts",
    // A browser and six processes on a busy machine take their time.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
  },
});
