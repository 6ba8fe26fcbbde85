import type { PostgresServer, RedisServer } from "@onceward/test-servers";

/** Copies of the one record that is there, under other ids: quicker than a million requests. */
export async function seedRedis(redis: RedisServer, count: number): Promise<void> {
  const [template] = (await redis.command("KEYS", "*")) as string[];
  const script = `
    local value = redis.call("GET", KEYS[1])
    local prefix = string.match(KEYS[1], "^[^{]*{")
    for i = ARGV[1], ARGV[2] do
      redis.call("SET", prefix .. string.format("%043d", i) .. "}", value, "PX", 86400000)
    end`;
  const batch = 20_000;
  for (let start = 0; start < count; start += batch)
    await redis.command("EVAL", script, 1, template ?? "", start, start + batch - 1);
}

/** The same in Postgres; with `expired`, records whose time is over. */
export async function seedPostgres(
  run: (sql: string) => Promise<{ rows: Record<string, unknown>[] }>,
  count: number,
  expired = false,
): Promise<void> {
  const { rows } = await run(
    "SELECT column_name FROM information_schema.columns WHERE table_schema = 'onceward' AND table_name = 'records' AND is_generated = 'NEVER'",
  );
  const names = rows.map((row) => String(row["column_name"]));
  const past = new Set(expired ? ["expires_at", "sweep_after"] : []);
  const values = names.map((name) => {
    if (name === "id") return "lpad(i::text, 43, '0')";
    return past.has(name) ? "now() - interval '1 minute'" : `r.${name}`;
  });
  await run(`INSERT INTO onceward.records (${names.join(", ")})
    SELECT ${values.join(", ")} FROM (SELECT * FROM onceward.records LIMIT 1) r, generate_series(1, ${count}) i`);
  await run("VACUUM ANALYZE onceward.records");
}

export type { PostgresServer };
