import { chown, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findBinary } from "./binary.ts";
import { LOOPBACK } from "./free-port.ts";
import { postgresQuery } from "./postgres-query.ts";
import { onFreePort, type ServerControl, startServer } from "./server.ts";
import { unprivilegedUser } from "./unprivileged-user.ts";

/** Options of {@link startPgBouncer}. */
export interface PgBouncerOptions {
  /** @defaultValue `transaction` */
  readonly poolMode?: "session" | "transaction" | "statement";
  /** Connections to the server for each user and database. @defaultValue 20 */
  readonly poolSize?: number;
  /** Further lines of the `[pgbouncer]` section; they win. */
  readonly config?: readonly string[];
}

/** A throw-away PgBouncer before a Postgres server. */
export interface PgBouncer extends ServerControl {
  readonly owned: true;
  readonly host: string;
  readonly port: number;
  /** The server's own url, but through the pool. */
  readonly url: string;
  /** Any url of the server (another database, another role), but through the pool. */
  through(url: string): string;
}

/** The path of pgbouncer, which is installed if need be. */
export function pgBouncerBinary(): Promise<string> {
  return findBinary({ variable: "PGBOUNCER", names: ["pgbouncer"], aptPackage: "pgbouncer" });
}

/** Starts a throw-away PgBouncer on loopback; every role and database of the server can be reached through it. */
export async function startPgBouncer(
  postgres: { readonly url: string },
  options: PgBouncerOptions = {},
): Promise<PgBouncer> {
  const command = await pgBouncerBinary();
  const user = await unprivilegedUser();
  const server = new URL(postgres.url);
  const configFile = (dir: string) => join(dir, "pgbouncer.ini");

  return onFreePort(async (port) => {
    const through = (original: string) => {
      const url = new URL(original);
      [url.hostname, url.port] = [LOOPBACK, String(port)];
      return url.href;
    };
    const write = async (path: string, lines: readonly string[]) => {
      await writeFile(path, `${lines.join("\n")}\n`, { mode: 0o600 });
      if (user !== undefined) await chown(path, user.uid, user.gid);
    };
    const control = await startServer({
      command,
      args: (dir) => [configFile(dir)],
      user,
      prepare: async (dir) => {
        const users = join(dir, "users.txt");
        const [name, password] = [server.username, server.password].map(decodeURIComponent);
        await write(users, [`"${name}" "${password}"`]);
        await write(configFile(dir), [
          "[databases]",
          `* = host=${server.hostname} port=${server.port || 5432}`,
          "[pgbouncer]",
          `listen_addr = ${LOOPBACK}`,
          `listen_port = ${port}`,
          "unix_socket_dir =",
          "auth_type = scram-sha-256",
          `auth_file = ${users}`,
          // Roles that tests create are looked up in the server.
          `auth_user = ${name}`,
          `stats_users = ${name}`,
          `pool_mode = ${options.poolMode ?? "transaction"}`,
          `default_pool_size = ${options.poolSize ?? 20}`,
          "max_client_conn = 500",
          ...(options.config ?? []),
        ]);
      },
      whoListens: async () => {
        const console = new URL(through(postgres.url));
        console.pathname = "/pgbouncer";
        const settings = await postgresQuery(console.href, "show config");
        return settings.find(({ key }) => key === "conffile")?.["value"];
      },
      itself: configFile,
      // It keeps no state, and which gentler signal ends it at once differs between its versions.
      stopSignal: "SIGKILL",
    });
    return Object.assign(control, {
      owned: true as const,
      host: LOOPBACK,
      port,
      url: through(postgres.url),
      through,
    });
  });
}
