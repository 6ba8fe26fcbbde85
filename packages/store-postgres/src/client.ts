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

/** Gets the answer to a query, or why there is none. */
export type PostgresCallback<T> = (error: Error | null | undefined, answer?: T) => void;

/** A connected `pg.Client`. */
export interface PostgresConnection {
  query(query: PostgresQuery, done: PostgresCallback<{ readonly rows: unknown[][] }>): void;
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
  /** True from the call of `end()` on, which waits for every connection that is out. */
  readonly ending?: boolean;
  readonly options?: { readonly max?: number | undefined };
  connect(): Promise<PostgresPoolConnection>;
  connect(done: PostgresCallback<PostgresPoolConnection>): void;
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
  run(query: PostgresQuery, done: PostgresCallback<unknown[][]>): void;
  script(sql: string): Promise<unknown>;
  /** `broken`: nobody may use it again. */
  giveBack(broken: boolean): void;
}

/** Where the statements' connections come from. Callbacks, as `pg` has them: a chain of promises for each call is waste. */
export interface ConnectionSource {
  borrow(done: PostgresCallback<Borrowed>): void;
  close(): void;
}

/** Makes one kind of connection out of three. */
export function connectionSource(client: PostgresClient): ConnectionSource {
  if (isInProcess(client)) return inProcessSource(client);
  return isPool(client) ? poolSource(client) : singleSource(client);
}

/** Whoever loses a connection learns it from the statement that fails; unheard, the event would end the process. */
const ignoreError = () => {};
/** What was made of a connection, once and for all stores that share its pool. */
const known = new WeakMap<PostgresPoolConnection, Borrowed>();

function poolSource(pool: PostgresPool): ConnectionSource {
  pool.on("error", ignoreError);
  return {
    borrow: (done) =>
      pool.connect((error, connection) => {
        if (connection === undefined) return done(error ?? new Error("the pool has no connection"));
        let borrowed = known.get(connection);
        if (borrowed === undefined) {
          connection.on("error", ignoreError);
          borrowed = borrow(connection, (broken) => connection.release(broken));
          known.set(connection, borrowed);
        }
        done(null, borrowed);
      }),
    close: () => pool.removeListener("error", ignoreError),
  };
}

/** One connection: statements take turns here, as `pg` no longer wants to queue them itself. */
function singleSource(connection: PostgresConnection): ConnectionSource {
  connection.on("error", ignoreError);
  const waiting: PostgresCallback<Borrowed>[] = [];
  let taken = false;
  const borrowed = borrow(connection, () => {
    const next = waiting.shift();
    taken = next !== undefined;
    next?.(null, borrowed);
  });
  return {
    borrow: (done) => {
      if (taken) return void waiting.push(done);
      taken = true;
      done(null, borrowed);
    },
    close: () => connection.removeListener("error", ignoreError),
  };
}

const borrow = (connection: PostgresConnection, giveBack: (broken: boolean) => void): Borrowed => ({
  run: (query, done) => connection.query(query, (error, answer) => done(error, answer?.rows)),
  script: (sql) => connection.query(sql),
  giveBack,
});

function inProcessSource(client: PostgresInProcess): ConnectionSource {
  const borrowed: Borrowed = {
    run: ({ text, values }, done) => {
      client.query(text, values, { rowMode: "array" }).then(({ rows }) => done(null, rows as unknown[][]), done);
    },
    script: (sql) => client.exec(sql),
    giveBack: () => {},
  };
  return { borrow: (done) => done(null, borrowed), close: () => {} };
}
