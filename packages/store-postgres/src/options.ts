import { InvalidOptionError } from "@onceward/core";
import { isInProcess, isPool, type PostgresClient, type PostgresConnection } from "./client.ts";

/** Options of `postgresStore`. */
export interface PostgresStoreOptions {
  /** A `pg.Pool` (best), a connected `pg.Client`, or a `PGlite`. It stays yours: the store never ends it. */
  readonly client: PostgresClient;
  /** @defaultValue "onceward" */
  readonly schema?: string | undefined;
  /** @defaultValue "records" */
  readonly table?: string | undefined;
  /** How long a call may take, the wait for a free connection included. @defaultValue 2_000 */
  readonly timeoutMs?: number | undefined;
  /** Prepared statements. Turn off for poolers that don't know them, such as PgBouncer before 1.21. @defaultValue true */
  readonly prepare?: boolean | undefined;
  /**
   * How waiters learn that the work is done. `true`: by `LISTEN`, on one connection of the pool that is kept. A
   * function: on the connection it returns, connected and past any pooler; the store ends it. `false`: the engine
   * polls. @defaultValue true
   */
  readonly listen?: boolean | (() => Promise<PostgresOwnConnection>) | undefined;
  /** How many records one statement of a sweep deletes. @defaultValue 500 */
  readonly sweepBatch?: number | undefined;
  /** The sweep moves records to this table (`true`: `<table>_archive`) instead of deleting them. @defaultValue false */
  readonly archive?: boolean | string | undefined;
  /**
   * Row-level security: every role sees its own records only; with `setting`, every value of that setting does.
   * @defaultValue false
   */
  readonly rls?: boolean | { readonly setting: string } | undefined;
}

/** A connected `pg.Client` that the store may end. */
export interface PostgresOwnConnection extends PostgresConnection {
  end(): Promise<void>;
}

/** Options with every default filled in. */
export interface ResolvedOptions {
  readonly client: PostgresClient;
  readonly schema: string;
  readonly table: string;
  readonly timeoutMs: number;
  readonly prepare: boolean;
  readonly listen: boolean | (() => Promise<PostgresOwnConnection>);
  readonly sweepBatch: number;
  readonly archive: string | undefined;
  readonly rls: boolean | { readonly setting: string };
}

const NAMES = new Set(["client", "schema", "table", "timeoutMs", "prepare", "listen", "sweepBatch", "archive", "rls"]);

/** Checks the options and fills in the defaults. */
export function resolveOptions(options: PostgresStoreOptions): ResolvedOptions {
  for (const name of Object.keys(options ?? {})) {
    if (!NAMES.has(name)) fail(`unknown option \`${name}\`; known are ${[...NAMES].join(", ")}`);
  }
  const { client, listen = true, prepare = true, rls = false } = options ?? {};
  if (typeof client !== "object" || client === null || !("connect" in client || "query" in client)) {
    fail("`client` must be a pg.Pool, a connected pg.Client or a PGlite");
  }
  if (typeof listen === "function" && isInProcess(client)) fail("`listen` is true or false with PGlite");
  if (listen === true && isPool(client) && (client.options?.max ?? 2) < 2) {
    fail(
      "`listen: true` keeps one connection of the pool, and this pool has only one: raise its `max`, or set `listen`",
    );
  }
  const schema = identifier("schema", options.schema ?? "onceward");
  const table = identifier("table", options.table ?? "records");
  return {
    client,
    schema,
    table,
    listen: oneOf("listen", listen, typeof listen === "function"),
    prepare: oneOf("prepare", prepare),
    timeoutMs: wholeNumber("timeoutMs", options.timeoutMs ?? 2_000),
    sweepBatch: wholeNumber("sweepBatch", options.sweepBatch ?? 500),
    archive: archiveName(options.archive ?? false, table),
    rls: oneOf("rls", rls, typeof rls === "object" && isSetting(rls.setting)),
  };
}

function archiveName(archive: boolean | string, table: string): string | undefined {
  if (archive === false) return undefined;
  const name = identifier("archive", archive === true ? `${table}_archive` : archive);
  if (name === table) fail("`archive` must name another table than `table`");
  return name;
}

/** Longer names would be cut once a suffix is appended, of which `_migrations` is the longest. */
const MAX_NAME_LENGTH = 52;

function identifier(option: string, name: unknown): string {
  if (typeof name === "string" && name.length <= MAX_NAME_LENGTH && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return name;
  return fail(`\`${option}\` must be letters, digits and underscores, at most ${MAX_NAME_LENGTH}, not first a digit`);
}

function isSetting(name: unknown): boolean {
  if (typeof name === "string" && /^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+$/.test(name)) return true;
  return fail("`rls.setting` must be the name of a setting with a dot, such as `app.tenant`");
}

function wholeNumber(option: string, value: unknown): number {
  // Node's timers take no more than 31 bits.
  if (Number.isInteger(value) && Number(value) >= 1 && Number(value) < 2 ** 31) return Number(value);
  return fail(`\`${option}\` must be a whole number of at least 1`);
}

function oneOf<T>(option: string, value: T, otherwise = false): T {
  if (typeof value === "boolean" || otherwise) return value;
  return fail(`\`${option}\` must be true or false`);
}

function fail(message: string): never {
  throw new InvalidOptionError(`postgresStore: ${message}.`);
}
