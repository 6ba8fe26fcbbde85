import { StoreUnavailableError } from "@onceward/core";
import type { Argument, Driver, Script, WaitReplicas } from "./driver.ts";
import { isNoScript, isReply, translate } from "./failures.ts";
import { scripts } from "./generated/scripts.ts";

/** What one run of a script needs beside its arguments. */
export interface Run<T> {
  /** Makes the result of the reply; what it throws is the caller's error. */
  read(reply: unknown): T;
  /** Called when nobody knows whether the script ran, or will yet run. */
  givenUp?(): void;
  readonly wait?: WaitReplicas | undefined;
  /** What to do when the server doesn't know the script: run it by its text (default), or fail with that error. */
  readonly noScript?: "eval" | "fail";
}

/** One Redis (server, Sentinel group or Cluster), asked with a limit of time. */
export interface Server {
  readonly driver: Driver;
  run<T>(script: Script, id: string, args: readonly Argument[], run: Run<T>): Promise<T>;
  /**
   * Ends a claim of which nothing is known, if it was made or is yet to be made. Sent as text, so that it takes its place
   * behind the claim on the same connection, and before a repetition of it: not even `NOSCRIPT` may put it off.
   */
  letGo(id: string, token: string): void;
  /** Limits the time of any other call. */
  within<T>(call: Promise<T>): Promise<T>;
  /** The record's key, as the client takes it (without the client's own prefix). */
  keyOf(id: string): string;
  /** The id behind the full name of a key. */
  idOf(fullKey: string): string;
  /** Finds the full names of all records. */
  readonly pattern: string;
}

/** Builds a {@link Server} on a driver. */
export function redisServer(driver: Driver, prefix: string, timeoutMs: number): Server {
  const fullPrefix = `${driver.keyPrefix}${prefix}{`;
  const late = () =>
    new StoreUnavailableError(`Redis did not answer within ${timeoutMs} ms; what it did or will do is not known`);

  const server: Server = {
    driver,
    pattern: `${fullPrefix.replace(/[*?[\]\\]/g, "\\$&")}*}`,
    // In braces, the id alone decides on the slot in a Cluster, whatever the client's own prefix.
    keyOf: (id) => `${prefix}{${id}}`,
    idOf: (fullKey) => fullKey.slice(fullPrefix.length, -1),
    run: (script, id, args, { read, givenUp, wait, noScript = "eval" }) =>
      new Promise((resolve, reject) => {
        const key = server.keyOf(id);
        let over = false;
        const timer = setTimeout(() => {
          over = true;
          reject(late());
          givenUp?.();
        }, timeoutMs);
        const succeed = (reply: unknown) => {
          if (over) return;
          clearTimeout(timer);
          try {
            resolve(read(reply));
          } catch (error) {
            reject(error);
          }
        };
        const fail = (error: unknown) => {
          // After giving up, not even NOSCRIPT is followed: the script would run after what was sent in the meantime.
          if (over) return;
          if (noScript === "eval" && isNoScript(error)) {
            driver.eval(script, key, args, wait).then(succeed, fail);
            return;
          }
          clearTimeout(timer);
          reject(isNoScript(error) ? error : translate(error));
          if (!isReply(error)) givenUp?.();
        };
        driver.evalsha(script, key, args, wait).then(succeed, fail);
      }),
    letGo: (id, token) => {
      driver.eval(scripts.release, server.keyOf(id), [token]).catch(() => {});
    },
    within: (call) => {
      let timer: NodeJS.Timeout | undefined;
      const limit = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(late()), timeoutMs);
      });
      return Promise.race([call, limit])
        .catch((error) => {
          throw translate(error);
        })
        .finally(() => clearTimeout(timer));
    },
  };
  return server;
}
