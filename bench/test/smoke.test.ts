/** The subjects do what the tables say they do. Nothing here depends on how long anything takes. */
import { type PostgresServer, type RedisServer, startPostgres, startRedis } from "@onceward/test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Measurement } from "../src/measure.ts";
import { median, quantile, ratioOf } from "../src/statistics.ts";
import { payloadOf, type Subject } from "../src/subject.ts";
import { type SubjectName, subjects } from "../src/subjects/index.ts";
import { emptyTables } from "../src/suites/postgres.ts";
import { tableText } from "../src/tables.ts";
import { verdicts } from "../src/targets.ts";

let redis: RedisServer;
let postgres: PostgresServer;
beforeAll(async () => {
  [redis, postgres] = await Promise.all([
    startRedis(),
    startPostgres({ config: ["shared_preload_libraries = 'pg_stat_statements'"] }),
  ]);
  await postgres.query("CREATE EXTENSION pg_stat_statements");
});
afterAll(() => Promise.all([redis?.stop(), postgres?.stop()]));

const empty = () => Promise.all([redis.command("FLUSHALL"), postgres.query(emptyTables)]);

/** A subject around work that counts its executions. */
async function start(name: SubjectName): Promise<{ subject: Subject; executions: () => number }> {
  let executions = 0;
  const work = async () => {
    executions++;
    return { id: "order-4711" };
  };
  const subject = await subjects[name](work, { redisUrl: redis.url, postgresUrl: postgres.url });
  return { subject, executions: () => executions };
}

describe.each(Object.keys(subjects) as SubjectName[])("%s", (name) => {
  const brief = name.includes("TTL of 1 ms");
  const compares = !/^raw|Powertools/.test(name) && !brief;
  // The raw limits know by the key's name which ones will come again.
  const key = "kept-550e8400-e29b-41d4-a716-446655440000";

  it("claims, stores and replays", async () => {
    const { subject, executions } = await start(name);
    const payload = payloadOf(200);
    expect(await subject.request(key, payload)).toEqual({ id: "order-4711" });
    if (name.startsWith("express-idempotency")) await stored(key);
    if (!brief) {
      expect(await subject.request(key, payload)).toEqual({ id: "order-4711" });
      expect(executions()).toBe(1);
    }
    if (compares) await expect(subject.request(key, payloadOf(200, "y"))).rejects.toThrow();
    await subject.close();
    await empty();
  });

  // PGlite takes seconds to start, and is measured by the same code as Postgres.
  if (name.includes("PGlite")) return;
  it("is measured with one execution for each new key, and none for replays", async () => {
    const { subject, executions } = await start(name);
    const measurement = new Measurement(subject, executions, 20);
    const options = { concurrency: 4, bodyBytes: 200, durationMs: 5 } as const;
    const fresh = await measurement.slice({ ...options, scenario: "new" });
    expect(fresh.executions).toBe(fresh.requests);
    expect(fresh.requests).toBeGreaterThan(0);
    if (!brief && !name.startsWith("express-idempotency")) {
      await measurement.keep(200);
      const replay = await measurement.slice({ ...options, scenario: "replay" });
      expect(replay).toMatchObject({ executions: 0 });
    }
    await subject.close();
    await empty();
  });
});

/** express-idempotency answers before it has stored. */
async function stored(name: string): Promise<void> {
  while (!String(await redis.command("GET", name)).includes('"response"')) await new Promise(setImmediate);
}

describe("commands per request", () => {
  it("are two for a new one and one for a replay on Postgres", async () => {
    const { subject } = await start("Onceward, Postgres");
    const calls = async () => {
      const [row] = await postgres.query(
        "SELECT coalesce(sum(calls), 0)::int AS calls FROM pg_stat_statements WHERE query ~ 'onceward' AND query !~ 'pg_stat_statements'",
      );
      return Number(row?.["calls"]);
    };
    await subject.request("kept-first", payloadOf(200));
    const before = await calls();
    await subject.request("kept-second", payloadOf(200));
    const between = await calls();
    await subject.request("kept-second", payloadOf(200));
    expect([between - before, (await calls()) - between]).toEqual([2, 1]);
    await subject.close();
  });

  it.each(["Onceward, ioredis 5", "Onceward, ioredis 6", "Onceward, node-redis 5"] as const)(
    "are two for a new one and one for a replay on Redis: %s",
    async (name) => {
      const { subject } = await start(name);
      const scripts = async () => {
        const stats = String(await redis.command("INFO", "commandstats"));
        return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
      };
      await subject.request("kept-first", payloadOf(200));
      const before = await scripts();
      await subject.request("kept-second", payloadOf(200));
      const between = await scripts();
      await subject.request("kept-second", payloadOf(200));
      expect([between - before, (await scripts()) - between]).toEqual([2, 1]);
      await subject.close();
      await empty();
    },
  );
});

describe("figures", () => {
  it("are medians, quantiles, and ratios round by round", () => {
    expect([median([3, 1, 2]), median([4, 1, 2, 3])]).toEqual([2, 2.5]);
    expect([quantile([1, 2, 3, 4], 0.5), quantile([1, 2, 3, 4], 0.99)]).toEqual([2, 4]);
    expect(ratioOf([2, 4, 9], [1, 2, 3])).toEqual({ median: 2, low: 2, high: 3 });
  });

  it("are held against their targets, and shown as tables", () => {
    const run = { at: "", mode: "quick", machine: {}, suites: { bytes: { tables: [], figures: { memory: 944 } } } };
    const met = verdicts(run).filter((verdict) => verdict.met === "yes");
    expect(met.map(({ measured }) => measured)).toEqual(["944 B"]);
    const table = {
      id: "x",
      title: "T",
      about: "A",
      columns: ["", "n"],
      rows: [["a", { median: 1, low: 0.5, high: 2 }]],
    };
    expect(tableText(table)).toContain("1.00× (0.50–2.00)");
  });
});
