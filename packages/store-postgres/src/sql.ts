import type { PostgresQuery } from "./client.ts";
import { migrations } from "./generated/migrations.ts";
import { statements } from "./generated/statements.ts";
import type { ResolvedOptions } from "./options.ts";

/** What decides the text of the SQL. */
export type SqlOptions = Pick<ResolvedOptions, "schema" | "table" | "archive" | "rls">;
/** The statements by the names of their files. */
export type StatementName = Exclude<keyof typeof statements, "archive">;
/** Makes the query of a statement for some values. */
export type Statement = (values: unknown[]) => PostgresQuery;

/** What the SQL of one store needs. */
export interface StoreSql {
  readonly channel: string;
  readonly statements: Readonly<Record<StatementName, Statement>>;
}

/** A column list that {@link decodeRecord} of rows.ts reads. */
const STATE = `CASE WHEN r.completed_at IS NOT NULL THEN 'completed'
  WHEN r.lease_until > statement_timestamp() THEN 'running' ELSE 'abandoned' END`;
const RECORD = `r.fence, r.id, ${STATE}, r.fingerprint, r.token, r.attempt, r.label,
  date_part('epoch', r.claimed_at), date_part('epoch', r.lease_until - statement_timestamp()),
  date_part('epoch', r.expires_at), r.step_names, date_part('epoch', r.completed_at)`;
/** A claim that was granted; each step is two more words. decodeClaim of rows.ts reads it. */
const CLAIMED = `concat_ws(' ', '+', r.fence, r.attempt, r.taken_over, (
      SELECT string_agg(concat(name, ' ', encode(result, 'hex')), ' ') FROM unnest(r.step_names, r.step_results) AS s (name, result)))`;
const ARCHIVED_COLUMNS =
  "expires_at, claimed_at, completed_at, fence, attempt, id, owner, fingerprint, label, step_names, step_results, outcome";

/** The store's statements, with its names filled in. */
export function storeSql(options: SqlOptions): StoreSql {
  const names = placeholders(options);
  const build = (name: StatementName): Statement => {
    const text = fill(statements[name], names);
    // The plan of a sweep depends on how much there is; one that was made for an empty table must not be kept.
    if (name === "sweep") return (values) => ({ text, values, rowMode: "array" });
    const prepared = `onceward_${name}_${hash(text)}`;
    return (values) => ({ name: prepared, text, values, rowMode: "array" });
  };
  const named = Object.keys(statements)
    .filter((name) => name !== "archive")
    .map((name) => [name, build(name as StatementName)]);
  return { channel: names["channel"] ?? "", statements: Object.fromEntries(named) };
}

/**
 * The migrations as one script that can be run at any time, by any number of instances at once: it does what its ledger
 * doesn't have yet.
 */
export function migrationScript(options: SqlOptions): string {
  const names = placeholders(options);
  const tracks = new Set(["records", options.archive && "archive", options.rls && "rls"]);
  if (options.archive && options.rls) tracks.add("rls-archive");
  const steps = migrations
    .filter(({ track }) => tracks.has(track))
    .map(
      ({ track, version, name, sql }) => `
  IF NOT EXISTS (SELECT FROM {{ledger}} WHERE track = '${track}' AND version = ${version}) THEN
    INSERT INTO {{ledger}} (track, version, name) VALUES ('${track}', ${version}, '${name}');
${sql.replace(/^(?=.)/gm, "    ")}
  END IF;`,
    );
  return fill(
    `-- Onceward's migrations for {{table}}; safe to run again, and by several at once.
BEGIN ISOLATION LEVEL READ COMMITTED;
SELECT pg_advisory_xact_lock(hashtextextended('onceward migrate {{table}}', 0));
DO $onceward$
BEGIN
  -- Asked first, because CREATE SCHEMA wants the right to create even when there is nothing to do.
  IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = '${options.schema}') THEN
    CREATE SCHEMA {{schema}};
  END IF;
  IF to_regclass('{{ledger}}') IS NULL THEN
    CREATE TABLE {{ledger}} (
      track text NOT NULL,
      version integer NOT NULL,
      name text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (track, version)
    );
  END IF;${steps.join("\n")}
END
$onceward$;
COMMIT;
`,
    names,
  );
}

/** The version of each track of migrations that this release knows. */
export function knownVersions(): ReadonlyMap<string, number> {
  return new Map(migrations.map(({ track, version }) => [track, version]));
}

function placeholders({ schema, table, archive, rls }: SqlOptions): Record<string, string> {
  const qualified = (name: string) => `${quote(schema)}.${quote(name)}`;
  // Nobody without the setting: then it is NULL, which equals nothing and can't be inserted.
  const setting = typeof rls === "object" && `nullif(current_setting('${rls.setting}', true), '')`;
  return {
    schema: quote(schema),
    table: qualified(table),
    ledger: qualified(`${table}_migrations`),
    fences: qualified(`${table}_fences`),
    archive: qualified(archive ?? ""),
    primaryKey: quote(`${table}_pkey`),
    sweepIndex: quote(`${table}_sweep`),
    channel: `onceward_${hash(qualified(table))}`,
    take: qualified(`${table}_take_v1`),
    retake: qualified(`${table}_retake_v1`),
    claimed: CLAIMED,
    // Said in each statement too, for roles that row-level security doesn't bind, such as superusers.
    owner: setting || (rls ? "current_user::text" : "''::text"),
    state: STATE,
    record: RECORD,
    archiveColumns: ARCHIVED_COLUMNS,
    archived: archive === undefined ? "" : statements.archive,
  };
}

const quote = (name: string) => `"${name}"`;

/** Names were checked by options.ts: none has a quote. What is filled in may have placeholders of its own. */
function fill(sql: string, names: Readonly<Record<string, string>>): string {
  const filled = sql.replace(/\{\{(\w+)\}\}/g, (placeholder, name: string) => names[name] ?? placeholder);
  return filled === sql ? sql : fill(filled, names);
}

/** FNV-1a. It only keeps names apart that are similar by nature. */
function hash(text: string): string {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193) >>> 0;
  }
  return value.toString(16).padStart(8, "0");
}
