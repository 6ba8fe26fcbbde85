import { defineProject } from "vitest/config";

export default defineProject({
  test: {
    globalSetup: "@onceward/test-servers/global-setup",
    // Starting a server on a busy machine takes its time.
    hookTimeout: 60_000,
    testTimeout: 60_000,
  },
});
