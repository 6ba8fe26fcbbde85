import { StoreUnavailableError } from "@onceward/core";
import type { Borrowed, ConnectionSource, PostgresCallback, PostgresQuery } from "./client.ts";
import { isLostPreparedStatement, isSerializationFailure, isServerError, storeError } from "./errors.ts";

/** Sends statements and never waits for ever. */
export interface Calls {
  /**
   * Runs one statement as a transaction of its own. When it is given up, `undo` is sent after it on the same
   * connection, so that what a late server still does isn't left behind.
   */
  run(query: PostgresQuery, undo?: () => PostgresQuery): Promise<unknown[][]>;
  /** Runs several statements in one message, without a time limit. */
  script(sql: string): Promise<void>;
  close(): void;
}

/** How the calls behave. */
export interface CallOptions {
  readonly timeoutMs: number;
  readonly prepare: boolean;
  readonly onWarning: (code: string, message: string) => void;
}

/** A statement and whoever waits for it. */
interface Call {
  readonly query: PostgresQuery;
  readonly undo: (() => PostgresQuery) | undefined;
  readonly resolve: (rows: unknown[][]) => void;
  readonly reject: (error: Error) => void;
  connection: Borrowed | undefined;
  timer: NodeJS.Timeout | undefined;
  /** The caller has gone. */
  givenUp: boolean;
}

/**
 * How long a connection whose statement was given up may take to answer after all. Until then it can't be used, and
 * afterwards it is closed.
 */
const LINGER_MS = 10_000;

/** Makes {@link Calls} over somebody's connections. */
export function createCalls(source: ConnectionSource, options: CallOptions): Calls {
  const { timeoutMs } = options;
  /** Connections whose statement was given up, and what closes them. */
  const lingering = new Map<Borrowed, NodeJS.Timeout>();
  let { prepare } = options;

  const giveUp = (call: Call): void => {
    call.givenUp = true;
    if (call.connection !== undefined) linger(call.connection);
    call.reject(new StoreUnavailableError(`Postgres did not answer within ${timeoutMs} ms.`));
  };

  /** Whether the server says that it has not run the statement, so that to repeat it is right. */
  const mayRepeat = (query: PostgresQuery, error: unknown): boolean => {
    if (isSerializationFailure(error)) return true;
    if (query.name === undefined || !isLostPreparedStatement(error)) return false;
    if (prepare) {
      prepare = false;
      options.onWarning(
        "prepared-statements-lost",
        "A pooler mixes up prepared statements; the store goes on without them. Set `prepare: false`.",
      );
    }
    return true;
  };

  const send = (connection: Borrowed, query: PostgresQuery, done: PostgresCallback<unknown[][]>): void => {
    if (!prepare) delete query.name;
    try {
      connection.run(query, done);
    } catch (error) {
      done(error as Error);
    }
  };

  const sendCall = (connection: Borrowed, call: Call): void =>
    send(connection, call.query, (error, rows) => {
      if (call.givenUp) return undo(connection, call, error);
      if (mayRepeat(call.query, error)) return sendCall(connection, call);
      clearTimeout(call.timer);
      connection.giveBack(isBroken(error));
      if (error) call.reject(storeError(error));
      else call.resolve(rows ?? []);
    });

  /** Keeps the connection of a call that was given up from others, until the statement has ended and is undone. */
  const linger = (connection: Borrowed): void => {
    const timer = setTimeout(() => endLingering(connection, true), LINGER_MS);
    timer.unref();
    lingering.set(connection, timer);
  };

  const undo = (connection: Borrowed, call: Call, error: unknown): void => {
    if (error || call.undo === undefined) {
      endLingering(connection, isBroken(error));
      return;
    }
    const query = call.undo();
    send(connection, query, (failure) => {
      if (mayRepeat(query, failure) && lingering.has(connection)) undo(connection, call, undefined);
      else endLingering(connection, isBroken(failure));
    });
  };

  const endLingering = (connection: Borrowed, broken: boolean): void => {
    if (!lingering.has(connection)) return;
    clearTimeout(lingering.get(connection));
    lingering.delete(connection);
    connection.giveBack(broken);
  };

  return {
    run: (query, undo) =>
      new Promise((resolve, reject) => {
        const call: Call = { query, undo, resolve, reject, connection: undefined, timer: undefined, givenUp: false };
        call.timer = setTimeout(giveUp, timeoutMs, call);
        source.borrow((error, connection) => {
          // When it comes too late, nothing was sent.
          if (call.givenUp) return connection?.giveBack(false);
          if (connection === undefined) {
            clearTimeout(call.timer);
            return reject(storeError(error));
          }
          call.connection = connection;
          sendCall(connection, call);
        });
      }),
    script: async (sql) => {
      const connection = await new Promise<Borrowed>((resolve, reject) => {
        source.borrow((error, borrowed) => (borrowed ? resolve(borrowed) : reject(storeError(error))));
      });
      try {
        await connection.script(sql);
        connection.giveBack(false);
      } catch (error) {
        // The script may have failed in the middle of its transaction, on a connection that we can't throw away.
        await connection.script("ROLLBACK").catch(() => {});
        connection.giveBack(true);
        throw storeError(error);
      }
    },
    close: () => {
      for (const connection of [...lingering.keys()]) endLingering(connection, true);
      source.close();
    },
  };
}

/** After an error that the server sent, the connection is as good as before, unless the server took leave with it. */
const isBroken = (error: unknown) => Boolean(error) && !(isServerError(error) && error.severity === "ERROR");
