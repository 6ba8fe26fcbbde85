import {
  type ListFilter,
  type Store,
  StoreClosedError,
  type StoredRecord,
  type StoreEvent,
  StoreRejectedError,
  StoreUnavailableError,
} from "@onceward/core";
import type { Argument, Script } from "./driver.ts";
import { scripts } from "./generated/scripts.ts";
import { type RedisStoreOptions, resolveOptions } from "./options.ts";
import { argumentOf, bufferOf, claimArguments, expiry, readClaim, readFind } from "./record.ts";
import { redisServer } from "./server.ts";
import { sizeGuard } from "./size.ts";
import { redisWaker } from "./waker.ts";
import { serverWarnings } from "./warnings.ts";

/** {@link Store} on Redis, with all capabilities but `sweep`: Redis expires records by itself. */
export type RedisStore = Store & Required<Pick<Store, "list" | "watch" | "onEvent">>;

/**
 * Keeps records in Redis or Valkey: a single server, a Sentinel group or a Cluster, whatever the client talks to.
 * The client stays yours; `close` ends only what the store opened itself (the connection that wakes waiters).
 */
export function redisStore(options: RedisStoreOptions): RedisStore {
  const { driver, prefix, timeoutMs, waitReplicas } = resolveOptions(options);
  const server = redisServer(driver, prefix, timeoutMs);
  const waker = redisWaker(server, prefix);
  const guarded = sizeGuard(server);
  const listeners = new Set<(event: StoreEvent) => void>();
  let inspected = false;
  let closed = false;

  const refuse = () => Promise.reject(closedError());
  const emit = (event: StoreEvent) => {
    for (const listener of listeners) listener(event);
  };
  /** Runs a script that replies 1 for yes and 0 for no. */
  const ask = (script: Script, id: string, args: readonly Argument[], wait = waitReplicas) => {
    if (closed) return refuse();
    return server.run(script, id, args, {
      wait,
      read: (reply) => durable(reply, wait, (answer) => answer === 1) === 1,
    });
  };
  const find = (id: string, withOutcome: boolean) =>
    closed
      ? refuse()
      : server.run(scripts.find, id, [withOutcome ? "1" : "0"], { read: (reply) => readFind(id, reply, withOutcome) });

  return {
    claim: (id, request) => {
      if (closed) return refuse();
      const { token } = request;
      // What may have been claimed, or be claimed yet, must not be held by nobody.
      const givenUp = () => server.letGo(id, token);
      return server.run(scripts.claim, id, claimArguments(request), {
        wait: waitReplicas,
        givenUp,
        read: (reply) => {
          try {
            return readClaim(
              durable(reply, waitReplicas, (claim) => isClaimed(claim, token)),
              token,
            );
          } catch (error) {
            if (error instanceof StoreUnavailableError) givenUp();
            throw error;
          }
        },
      });
    },
    complete: (id, token, outcome, ttlMs) =>
      guarded(outcome, () => ask(scripts.complete, id, [token, argumentOf(outcome), String(ttlMs), expiry(ttlMs)])),
    release: (id, token) => ask(scripts.release, id, [token]),
    renew: (id, token, leaseMs) => ask(scripts.renew, id, [token, String(leaseMs)]),
    saveStep: (id, token, name, result) =>
      guarded(result, () => ask(scripts.saveStep, id, [token, name, bufferOf(result)])),
    find: (id) => find(id, true),
    remove: (id) => ask(scripts.remove, id, []),
    list: async function* ({ state, limit = Number.POSITIVE_INFINITY }: ListFilter = {}) {
      if (closed) throw closedError();
      let left = limit;
      const pages = driver.scan(server.pattern)[Symbol.asyncIterator]();
      while (left > 0) {
        const page = await server.within(pages.next());
        if (page.done) return;
        const readable = async (id: string): Promise<StoredRecord | null> => {
          try {
            return await find(id, false);
          } catch (error) {
            if (!(error instanceof StoreRejectedError)) throw error;
            emit({
              type: "store-warning",
              code: "redis-corrupt-record",
              message: `${server.keyOf(id)}: ${error.message}`,
            });
            return null;
          }
        };
        for (const record of await Promise.all(page.value.map((key) => readable(server.idOf(key))))) {
          if (record === null || left <= 0 || (state !== undefined && record.state !== state)) continue;
          left -= 1;
          yield record;
        }
      }
    },
    watch: (id, seenFence, signal) =>
      closed
        ? refuse()
        : waker.watch(
            `${driver.keyPrefix}${server.keyOf(id)}`,
            (channel) => ask(scripts.watch, id, [String(seenFence), channel], undefined),
            signal,
          ),
    onEvent: (listener) => {
      listeners.add(listener);
      if (!inspected) {
        inspected = true;
        serverWarnings(driver).then((warnings) => closed || warnings.forEach(emit));
      }
      return () => {
        listeners.delete(listener);
      };
    },
    ping: async () => {
      if (closed) throw closedError();
      await server.within(driver.ping());
    },
    close: async () => {
      if (closed) return;
      closed = true;
      listeners.clear();
      waker.close();
    },
  };

  function durable(reply: unknown, wait: typeof waitReplicas, wrote: (reply: unknown) => boolean): unknown {
    if (wait === undefined) return reply;
    const [answer, replicas] = reply as [unknown, number];
    if (wrote(answer) && replicas < wait.count) {
      throw new StoreUnavailableError(
        `${replicas} replicas of ${wait.count} (waitReplicas) confirmed the write within ${wait.timeoutMs} ms`,
      );
    }
    return answer;
  }
}

function isClaimed(reply: unknown, token: string): boolean {
  return readClaim(reply, token).state === "claimed";
}

function closedError(): StoreClosedError {
  return new StoreClosedError("The Redis store was closed; make a new one with redisStore()");
}
