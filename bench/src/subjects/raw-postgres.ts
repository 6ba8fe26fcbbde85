import { PGlite } from "@electric-sql/pglite";
import pg from "pg";
import { type MakeSubject, ttlMs, type Work } from "../subject.ts";

const table = `CREATE TABLE IF NOT EXISTS raw (
  id text PRIMARY KEY, result text, expires_at timestamptz NOT NULL)`;
const claim =
  "INSERT INTO raw (id, expires_at) VALUES ($1, now() + $2::float8 * interval '1 ms') ON CONFLICT DO NOTHING";
const complete = "UPDATE raw SET result = $2, expires_at = now() + $3::float8 * interval '1 ms' WHERE id = $1";
const read = "SELECT result FROM raw WHERE id = $1 AND expires_at > now()";

type Query = (name: string, text: string, values: unknown[]) => Promise<{ changed: number; rows: unknown[][] }>;

/** The limit: two statements for a new request, one for a replay; nothing is compared, owned, leased or fenced. */
function subject(query: Query, work: Work, close: () => Promise<void>, known = new Set<string>()) {
  return {
    request: async (key: string, payload: Parameters<Work>[0]) => {
      if (known.has(key)) return JSON.parse((await query("read", read, [key])).rows[0]?.[0] as string) as unknown;
      if ((await query("claim", claim, [key, ttlMs])).changed === 0) throw new Error("Somebody came first");
      const result = await work(payload);
      await query("complete", complete, [key, JSON.stringify(result), ttlMs]);
      if (key.startsWith("kept")) known.add(key);
      return result;
    },
    close,
  };
}

export const rawPg: MakeSubject = async (work, { postgresUrl }) => {
  const pool = new pg.Pool({ connectionString: postgresUrl, max: poolSize });
  // Two at once may both find no table.
  await pool.query(table).catch(() => pool.query(table));
  const query: Query = async (name, text, values) => {
    const { rowCount, rows } = await pool.query<unknown[]>({ name, text, values, rowMode: "array" });
    return { changed: rowCount ?? 0, rows };
  };
  const known = new Set<string>();
  return { ...subject(query, work, () => pool.end(), known), forget: () => known.clear() };
};

export const rawPglite: MakeSubject = async (work) => {
  const database = await PGlite.create();
  await database.exec(table);
  const query: Query = async (_name, text, values) => {
    const { affectedRows = 0, rows } = await database.query<unknown[]>(text, values, { rowMode: "array" });
    return { changed: affectedRows, rows };
  };
  return subject(query, work, () => database.close());
};

/** The same for all who use Postgres; it is the default of `pg`. */
export const poolSize = 10;
