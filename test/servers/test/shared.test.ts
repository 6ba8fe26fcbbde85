import { afterEach, expect, it, vi } from "vitest";
import { sharedPostgres, sharedRedis } from "../src/index.ts";

afterEach(() => vi.unstubAllEnvs());

it("starts one server of each kind for all callers in a process", async () => {
  vi.stubEnv("REDIS_URL", "");
  vi.stubEnv("DATABASE_URL", "");
  for (const shared of [sharedRedis, sharedPostgres]) {
    const [one, two] = await Promise.all([shared(), shared()]);
    expect(one).toBe(two);
    expect(one.owned).toBe(true);
  }
});

it("uses the servers that REDIS_URL and DATABASE_URL name, which tests can't stop", async () => {
  vi.stubEnv("REDIS_URL", "redis://127.0.0.1:7777");
  vi.stubEnv("DATABASE_URL", "postgres://someone@127.0.0.1/somewhere");
  expect(await sharedRedis()).toEqual({
    owned: false,
    url: "redis://127.0.0.1:7777",
    host: "127.0.0.1",
    port: 7777,
  });
  expect(await sharedPostgres()).toEqual({
    owned: false,
    url: "postgres://someone@127.0.0.1/somewhere",
    host: "127.0.0.1",
    port: 5432,
  });
});
