import { type OncewardError, StoreRejectedError, StoreUnavailableError } from "@onceward/core";

/** An error that the server itself sent; others come from the driver or the network. */
export interface ServerError extends Error {
  /** The SQLSTATE. */
  readonly code: string;
  readonly severity: string;
}

/** Whether the server sent it. Node's own errors have a `code` too, and some are as long as a SQLSTATE. */
export const isServerError = (error: unknown): error is ServerError =>
  error instanceof Error &&
  typeof Reflect.get(error, "code") === "string" &&
  typeof Reflect.get(error, "severity") === "string";

/** The transaction was rolled back because of others, so nothing was done: to repeat it is right. */
export const isSerializationFailure = (error: unknown) =>
  isServerError(error) && (error.code === "40001" || error.code === "40P01");

/** A pooler handed us a connection that doesn't have (or has already) the prepared statement; it was not run. */
export const isLostPreparedStatement = (error: unknown) =>
  isServerError(error) && (error.code === "26000" || error.code === "42P05");

/** After these the server answers again by itself, or somewhere else. Two letters name a whole class. */
const TEMPORARY = [
  "08", // connection lost, or refused by a pooler
  "25006", // read-only: a standby, or a failover under way
  "40", // rolled back because of others
  "53", // too many connections, out of memory, disk full
  "55P03", // lock_timeout of the caller's own
  "57", // shutting down, starting up, canceled, statement_timeout
  "58", // input/output error
];

const REMEDIES: Readonly<Record<string, string>> = {
  "42P01": "The table is missing: run `await store.migrate()` once, or the SQL of `store.migrationSql()`.",
  "3F000": "The schema is missing: run `await store.migrate()` once, or the SQL of `store.migrationSql()`.",
  "42703": "The table has other columns than this release needs: run `await store.migrate()`.",
  "42P10": "The table has another key than this release needs: was it migrated with another `rls` option?",
  "42501":
    "The role lacks a right: grant SELECT, INSERT, UPDATE, DELETE on the tables and USAGE on schema and sequence. With " +
    "`rls: { setting }`, that setting must be made before the store is used.",
  "23502": "A value is missing: with `rls: { setting }`, that setting must be made before the store is used.",
  "28P01": "The password is wrong.",
  "28000": "The role may not log in here: check user, password and pg_hba.conf.",
  "3D000": "The database doesn't exist.",
};

/** Turns what the driver threw into what the contract promises. */
export function storeError(error: unknown): OncewardError {
  if (error instanceof StoreRejectedError || error instanceof StoreUnavailableError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (!isServerError(error)) {
    // What the driver can't even send, such as a value that is too long for a string.
    if (error instanceof RangeError || error instanceof TypeError) {
      return new StoreRejectedError(`Postgres driver: ${message}`, { cause: error });
    }
    return new StoreUnavailableError(`Postgres can't be reached: ${message}`, { cause: error });
  }
  const { code } = error;
  if (TEMPORARY.some((start) => code.startsWith(start))) {
    return new StoreUnavailableError(`Postgres can't answer now: ${message} (${code})`, { cause: error });
  }
  const remedy = REMEDIES[code] ?? "";
  return new StoreRejectedError(`Postgres refused: ${message} (${code}). ${remedy}`.trimEnd(), { cause: error });
}
