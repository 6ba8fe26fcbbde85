import { StoreUnavailableError } from "@onceward/core";
import type { Borrowed, ConnectionSource, PostgresQuery } from "./client.ts";
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

/** A transaction that loses against others this often has met a server in trouble. */
const MAX_ATTEMPTS = 20;
/**
 * How long a connection whose statement was given up may take to answer after all. Until then it can't be used, and
 * afterwards it is closed.
 */
const LINGER_MS = 10_000;

/** Makes {@link Calls} over somebody's connections. */
export function createCalls(source: ConnectionSource, options: CallOptions): Calls {
  const { timeoutMs } = options;
  const lingering = new Set<() => void>();
  let { prepare } = options;

  /** Repeats only what the server says it has not done. */
  const send = async (connection: Borrowed, query: PostgresQuery, givenUp: () => boolean): Promise<unknown[][]> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        if (!prepare) delete query.name;
        return await connection.run(query);
      } catch (error) {
        if (givenUp() || attempt === MAX_ATTEMPTS) throw error;
        if (prepare && isLostPreparedStatement(error)) {
          prepare = false;
          options.onWarning(
            "prepared-statements-lost",
            "A pooler mixes up prepared statements; the store goes on without them. Set `prepare: false`.",
          );
        } else if (!isSerializationFailure(error)) throw error;
      }
    }
  };

  /** The caller has gone. Lets the statement end, undoes it, and only then lets others have the connection. */
  const linger = (connection: Borrowed, answer: Promise<unknown>, undo?: () => PostgresQuery): void => {
    let returned = false;
    const giveBack = (broken: boolean) => {
      if (returned) return;
      returned = true;
      clearTimeout(timer);
      lingering.delete(destroy);
      connection.giveBack(broken);
    };
    const destroy = () => giveBack(true);
    const timer = setTimeout(destroy, LINGER_MS);
    timer.unref();
    lingering.add(destroy);
    answer
      .then(() => undo && send(connection, undo(), () => returned))
      .then(
        () => giveBack(false),
        (error: unknown) => giveBack(isBroken(error)),
      );
  };

  const run: Calls["run"] = (query, undo) =>
    new Promise((resolve, reject) => {
      let over = false;
      let giveUp = () => {};
      const timer = setTimeout(() => {
        over = true;
        reject(new StoreUnavailableError(`Postgres did not answer within ${timeoutMs} ms.`));
        giveUp();
      }, timeoutMs);
      const fail = (error: unknown) => {
        clearTimeout(timer);
        reject(storeError(error));
      };
      source.borrow().then((connection) => {
        // It came too late, and nothing was sent.
        if (over) return connection.giveBack(false);
        const answer = send(connection, query, () => over);
        giveUp = () => linger(connection, answer, undo);
        answer.then(
          (rows) => {
            if (over) return;
            clearTimeout(timer);
            connection.giveBack(false);
            resolve(rows);
          },
          (error: unknown) => {
            if (over) return;
            connection.giveBack(isBroken(error));
            fail(error);
          },
        );
      }, fail);
    });

  return {
    run,
    script: async (sql) => {
      const connection = await source.borrow().catch((error: unknown) => {
        throw storeError(error);
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
      for (const destroy of lingering) destroy();
      source.close();
    },
  };
}

/** After an error that the server sent, the connection is as good as before, unless the server took leave with it. */
const isBroken = (error: unknown) => !isServerError(error) || error.severity !== "ERROR";
