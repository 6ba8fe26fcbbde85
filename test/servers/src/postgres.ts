import { execFile } from "node:child_process";
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { QueryResultRow } from "pg";
import { LOOPBACK } from "./free-port.ts";
import { postgresBinaries } from "./postgres-binaries.ts";
import { postgresQuery } from "./postgres-query.ts";
import { onFreePort, type ServerControl, startServer } from "./server.ts";
import { supervisor } from "./supervisor-client.ts";
import { unprivilegedUser } from "./unprivileged-user.ts";

/** Options of {@link startPostgres}. */
export interface PostgresOptions {
  /** @defaultValue a free one */
  readonly port?: number;
  /** Further lines of postgresql.conf, such as `shared_preload_libraries = 'pg_stat_statements'`; they win. */
  readonly config?: readonly string[];
  /** @defaultValue 100 */
  readonly maxConnections?: number;
  /**
   * Flush to the disk, as in production. Without, a commit still survives `kill()` (the system has it), only not a
   * power failure. @defaultValue false
   */
  readonly durable?: boolean;
}

/** A throw-away Postgres server. */
export interface PostgresServer extends ServerControl {
  readonly owned: true;
  /** As superuser `postgres`, with its password, to the database `postgres`. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  /** Runs one statement as superuser, over a connection of its own. */
  query(sql: string, values?: readonly unknown[]): Promise<QueryResultRow[]>;
}

const SUPERUSER = "postgres";
const PASSWORD = "only-for-tests";

/** Starts a throw-away Postgres on loopback. */
export function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  return onFreePort((port) => startPostgresOn(port, options), { fixed: options.port });
}

async function startPostgresOn(port: number, options: PostgresOptions): Promise<PostgresServer> {
  const user = await unprivilegedUser();
  const { initdb, postgres } = await postgresBinaries(user !== undefined);
  const url = `postgres://${SUPERUSER}:${PASSWORD}@${LOOPBACK}:${port}/postgres`;
  const query = (sql: string, values?: readonly unknown[]) => postgresQuery(url, sql, values);
  const dataOf = (dir: string) => join(dir, "data");
  // Not ours: variables such as PGDATA or PGPORT would be obeyed.
  const env = { LC_ALL: "C", PATH: process.env["PATH"] ?? "" };

  const control = await startServer({
    command: postgres,
    args: (dir) => ["-D", dataOf(dir)],
    env,
    user,
    prepare: async (dir) => {
      const passwordFile = join(dir, "password");
      await writeFile(passwordFile, `${PASSWORD}\n`);
      const args = ["-D", dataOf(dir), "-U", SUPERUSER, "-A", "scram-sha-256", `--pwfile=${passwordFile}`];
      const { spawn, root } = await supervisor();
      const logFile = join(root, `initdb-${port}.log`);
      const process = await spawn({
        command: initdb,
        args: [...args, "--encoding=UTF8", "--no-locale", "--no-sync"],
        cwd: dir,
        env,
        logFile,
        ...(user && { user }),
      });
      const reason = await process.untilExit();
      if (reason !== "exit code 0") {
        throw new Error(`initdb failed with ${reason}:\n${await readFile(logFile, "utf8")}`);
      }
      await appendFile(join(dataOf(dir), "postgresql.conf"), `${configOf(port, options).join("\n")}\n`);
    },
    whoListens: async () => (await query("show data_directory"))[0]?.["data_directory"],
    itself: dataOf,
    // Postgres calls it the fast shutdown: clients are disconnected, and nothing is left to recover.
    stopSignal: "SIGINT",
    // The immediate shutdown, for the tests' end: unlike SIGKILL it frees the shared memory.
    endSignal: "SIGQUIT",
    afterKill: (dir) => freeSharedMemory(dataOf(dir)),
  });
  return Object.assign(control, {
    owned: true as const,
    url,
    host: LOOPBACK,
    port,
    user: SUPERUSER,
    password: PASSWORD,
    query,
  });
}

function configOf(port: number, { maxConnections = 100, durable = false, config = [] }: PostgresOptions): string[] {
  return [
    `listen_addresses = '${LOOPBACK}'`,
    `port = ${port}`,
    "unix_socket_directories = ''",
    `max_connections = ${maxConnections}`,
    // In the data folder and not in /dev/shm, where a killed server would leave it behind.
    "dynamic_shared_memory_type = mmap",
    ...(durable ? [] : ["fsync = off", "full_page_writes = off"]),
    ...config,
  ];
}

/** A killed Postgres leaves a System V segment of a few bytes, whose id is in line 7 of its lock file. */
async function freeSharedMemory(data: string): Promise<void> {
  const lockFile = await readFile(join(data, "postmaster.pid"), "utf8").catch(() => "");
  const id = lockFile.split("\n")[6]?.trim().split(/\s+/)[1];
  // The next start reuses the segment if it can't be removed here.
  if (id !== undefined) await promisify(execFile)("ipcrm", ["-m", id]).catch(() => undefined);
}
