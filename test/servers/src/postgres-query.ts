import { Client, type QueryResultRow } from "pg";

/** Runs one statement over a connection of its own, and returns its rows; never waits for long. */
export async function postgresQuery(
  url: string,
  sql: string,
  values: readonly unknown[] = [],
): Promise<QueryResultRow[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000, query_timeout: 10_000 });
  // What goes wrong rejects the calls below; a connection that is lost while idle must not end the process.
  client.on("error", () => undefined);
  await client.connect();
  try {
    return (await client.query(sql, [...values])).rows;
  } finally {
    await client.end();
  }
}
