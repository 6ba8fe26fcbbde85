import type { RunResult } from "./result.ts";

/** A target, and whether the run met it. */
export interface Verdict {
  readonly what: string;
  readonly target: string;
  readonly measured: string;
  readonly met: "yes" | "no" | "not measured";
}

interface Target {
  readonly what: string;
  readonly suite: string;
  readonly figure: string;
  readonly least?: number;
  readonly below?: number;
  readonly unit: "×" | "ms" | "B" | "";
}

const ratio = (what: string, suite: string, figure: string, least: number): Target => ({
  what,
  suite,
  figure,
  least,
  unit: "×",
});
const exactly = (what: string, figure: string, count: number): Target => ({
  what,
  suite: "commands",
  figure,
  least: count,
  below: count + 0.01,
  unit: "",
});
const bothOf = (what: string, suite: string, label: string, least: number) =>
  (["new", "replay"] as const).map((scenario) =>
    ratio(`${what}: ${scenario}`, suite, `${scenario} 50 200 ${label}`, least),
  );

const targets: readonly Target[] = [
  exactly("Redis: commands for a new request", "Redis new", 2),
  exactly("Redis: commands for a replay", "Redis replay", 1),
  exactly("Postgres: statements for a new request", "Postgres new", 2),
  exactly("Postgres: statements for a replay", "Postgres replay", 1),
  ...bothOf("Redis, 50 at once, beside raw ioredis 5", "redis", "Onceward, ioredis 5", 0.9),
  ...bothOf("Postgres, 50 at once, beside raw pg", "postgres", "Onceward", 0.9),
  ...(["new", "replay"] as const).map((scenario) =>
    ratio(`Redis, best of ours beside the best peer: ${scenario}`, "redis", `best ${scenario} beside peers`, 1.5),
  ),
  ...["Fastify", "Hono", "Express"].map((name) =>
    ratio(`${name}, key, memory store, beside the bare handler`, "http", `${name}, new key`, 0.8),
  ),
  ...["Fastify", "Hono", "Express"].map((name) =>
    ratio(`${name}, no key, beside the bare handler`, "http", `${name}, no key`, 0.98),
  ),
  ...["Redis", "Postgres"].map(
    (name): Target => ({
      what: `${name}: first's end to the last of 50 waiters, two processes, p99`,
      suite: "waiters",
      figure: `${name} p99 ms`,
      below: 5,
      unit: "ms",
    }),
  ),
  ...["memory", "Redis", "Postgres"].flatMap((name) =>
    (["new", "replay"] as const).map((scenario) =>
      ratio(`${name}: 1,000,000 live records beside none: ${scenario}`, "records", `${name} ${scenario}`, 0.95),
    ),
  ),
  {
    what: "Memory store: bytes per record of a 200 B result",
    suite: "bytes",
    figure: "memory",
    below: 1_024,
    unit: "B",
  },
];

/** Holds the run against the targets. */
export function verdicts(result: RunResult): Verdict[] {
  return targets.map(({ what, suite, figure, least, below, unit }) => {
    const value = result.suites[suite]?.figures[figure];
    const target =
      below === undefined ? `≥ ${least}${unit}` : least === undefined ? `< ${below} ${unit}` : String(least);
    if (value === undefined) return { what, target, measured: "–", met: "not measured" };
    const met = value >= (least ?? Number.NEGATIVE_INFINITY) && value < (below ?? Number.POSITIVE_INFINITY);
    const measured =
      unit === "×"
        ? `${value.toFixed(2)}×`
        : unit === "B"
          ? `${Math.round(value)} B`
          : `${Number(value.toFixed(2))} ${unit}`.trim();
    return { what, target, measured, met: met ? "yes" : "no" };
  });
}
