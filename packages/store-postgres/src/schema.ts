import { StoreRejectedError } from "@onceward/core";
import { knownVersions, type SqlOptions } from "./sql.ts";

/**
 * Compares what the ledger says with what this release knows and what the options ask for. Throws what to do.
 *
 * @param rows - Pairs of track and version.
 */
export function checkVersions(
  rows: readonly (readonly unknown[])[],
  { schema, table, archive, rls }: SqlOptions,
  { newerOnly = false } = {},
): void {
  const found = new Map(rows.map(([track, version]) => [String(track), Number(version)]));
  for (const [track, known] of knownVersions()) {
    const version = found.get(track) ?? 0;
    if (version > known) {
      throw new StoreRejectedError(
        `The table ${schema}.${table} is of version ${version} (${track}), and this release of @onceward/store-postgres ` +
          `knows ${known}: upgrade the package, here and wherever the old one still runs.`,
      );
    }
    const wanted = track === "records" || (track === "archive" && archive) || (track === "rls" && rls);
    if (wanted && version < known && !newerOnly) {
      throw new StoreRejectedError(
        `The table ${schema}.${table} lacks a migration (${track} ${version + 1}): run \`await store.migrate()\` once, ` +
          "or the SQL of `store.migrationSql()`.",
      );
    }
  }
  if (!rls && found.has("rls")) {
    throw new StoreRejectedError(`The table ${schema}.${table} was migrated with \`rls\`: set that option here too.`);
  }
}
