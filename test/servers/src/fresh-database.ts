import { randomBytes } from "node:crypto";
import { postgresQuery } from "./postgres-query.ts";

/** An empty database of its own. */
export interface FreshDatabase {
  readonly name: string;
  readonly url: string;
  /** Removes it, along with connections that are still open. */
  drop(): Promise<void>;
}

/** Creates an empty database on a server, be it our own or that of DATABASE_URL. */
export async function freshDatabase(server: { readonly url: string }): Promise<FreshDatabase> {
  const name = `onceward_test_${randomBytes(6).toString("hex")}`;
  // template0 has no connections that could be in the way when several workers create at once.
  await postgresQuery(server.url, `create database ${name} template template0`);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  return {
    name,
    url: url.href,
    drop: async () => {
      await postgresQuery(server.url, `drop database if exists ${name} with (force)`);
    },
  };
}
