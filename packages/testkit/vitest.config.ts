import { defineProject } from "vitest/config";

export default defineProject({
  test: { globalSetup: "@onceward/test-servers/global-setup", hookTimeout: 120_000 },
});
