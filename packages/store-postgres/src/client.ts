/**
 * The parts of `pg` and PGlite that the store uses, so that a pool, a client, a wrapper of either or PGlite fits.
 */

/** A statement as `pg` takes it. */
export interface PostgresQuery {
  readonly text: string;
  readonly values: unknown[];
  readonly rowMode: "array";
  /** Prepared under this name, once on each connection. */
  name?: string;
}

/** A connected `pg.Client`. */
export interface PostgresConnection {
  query(query: PostgresQuery): Promise<{ readonly rows: unknown[][] }>;
  /** Several statements in one message. */
  query(sql: string): Promise<unknown>;
  on(event: "error" | "end", listener: (error: Error) => void): unknown;
  on(event: "notification", listener: (message: PostgresNotification) => void): unknown;
  removeListener(event: "error" | "end", listener: (error: Error) => void): unknown;
  removeListener(event: "notification", listener: (message: PostgresNotification) => void): unknown;
}

/** What arrives on a channel that a connection listens to. */
export interface PostgresNotification {
  readonly channel: string;
  readonly payload?: string | undefined;
}

/** A connection out of a pool. */
export interface PostgresPoolConnection extends PostgresConnection {
  /** `true` or an error closes the connection instead of giving it back. */
  release(destroy?: Error | boolean): void;
}

/** A `pg.Pool`. */
export interface PostgresPool {
  readonly totalCount: number;
  readonly options?: { readonly max?: number | undefined };
  connect(): Promise<PostgresPoolConnection>;
  on(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
}

/** A `PGlite`. */
export interface PostgresInProcess {
  query(
    sql: string,
    values: unknown[],
    options: { rowMode: "array" },
  ): Promise<{ readonly rows: unknown[] /* of arrays, which PGlite's types don't say */ }>;
  exec(sql: string): Promise<unknown>;
  listen(channel: string, listener: (payload: string) => void): Promise<() => Promise<void>>;
}

/** What `postgresStore` takes as its client. */
export type PostgresClient = PostgresPool | PostgresConnection | PostgresInProcess;

/** Whether it is a `pg.Pool`. */
export const isPool = (client: PostgresClient): client is PostgresPool => "totalCount" in client;

/** Whether it is a `PGlite`. */
export const isInProcess = (client: PostgresClient): client is PostgresInProcess => "exec" in client;

/** A connection that nobody else uses until it is given back. */
export interface Borrowed {
  run(query: PostgresQuery): Promise<unknown[][]>;
  script(sql: string): Promise<unknown>;
  /** `broken`: nobody may use it again. */
  giveBack(broken: boolean): void;
}

/** Where the statements' connections come from. */
export interface ConnectionSource {
  borrow(): Promise<Borrowed>;
  close(): void;
}

/** Makes one kind of connection out of three. */
export function connectionSource(client: PostgresClient): ConnectionSource {
  if (isInProcess(client)) return inProcessSource(client);
  return isPool(client) ? poolSource(client) : singleSource(client);
}

/** Whoever loses a connection learns it from the statement that fails; unheard, the event would end the process. */
const ignoreError = () => {};

function poolSource(pool: PostgresPool): ConnectionSource {
  const heard = new WeakSet<PostgresPoolConnection>();
  pool.on("error", ignoreError);
  return {
    borrow: async () => {
      const connection = await pool.connect();
      if (!heard.has(connection)) {
        heard.add(connection);
        connection.on("error", ignoreError);
      }
      return {
        run: async (query) => (await connection.query(query)).rows,
        script: (sql) => connection.query(sql),
        giveBack: (broken) => connection.release(broken),
      };
    },
    close: () => pool.removeListener("error", ignoreError),
  };
}

/** One connection: statements take turns here, as `pg` no longer wants to queue them itself. */
function singleSource(connection: PostgresConnection): ConnectionSource {
  connection.on("error", ignoreError);
  let lastTurn: Promise<void> = Promise.resolve();
  return {
    borrow: async () => {
      const before = lastTurn;
      let giveBack = () => {};
      lastTurn = new Promise((resolve) => {
        giveBack = resolve;
      });
      await before;
      return {
        run: async (query) => (await connection.query(query)).rows,
        script: (sql) => connection.query(sql),
        giveBack,
      };
    },
    close: () => connection.removeListener("error", ignoreError),
  };
}

function inProcessSource(client: PostgresInProcess): ConnectionSource {
  const borrowed: Borrowed = {
    run: async ({ text, values }) => (await client.query(text, values, { rowMode: "array" })).rows as unknown[][],
    script: (sql) => client.exec(sql),
    giveBack: () => {},
  };
  return { borrow: async () => borrowed, close: () => {} };
}
