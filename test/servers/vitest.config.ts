import { defineProject } from "vitest/config";

export default defineProject({
  test: {
    globalSetup: "@onceward/test-servers/global-setup",
    // Starting a cluster on a busy machine takes its time.
    hookTimeout: 120_000,
    testTimeout: 120_000,
  },
});
