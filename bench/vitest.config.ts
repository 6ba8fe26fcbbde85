import { defineProject } from "vitest/config";

export default defineProject({
  test: {
    name: "@onceward/bench",
    include: ["test/**/*.test.ts"],
    globalSetup: "@onceward/test-servers/global-setup",
    hookTimeout: 120_000,
    testTimeout: 60_000,
  },
});
