import type { Calls } from "./calls.ts";
import { isInProcess, isPool, type PostgresClient, type PostgresNotification } from "./client.ts";
import type { ResolvedOptions } from "./options.ts";

/** One subscription for all waiters of a store. */
export interface Listener {
  /** True once the store is subscribed; false when it can't be now, after a little while. */
  subscribe(signal: AbortSignal): Promise<boolean>;
  /** Calls back once, when the id was notified, the subscription was lost, or the store closes. */
  add(id: string, wake: () => void): () => void;
  close(): Promise<void>;
}

/** What the listener needs from its store. */
export interface ListenerOptions extends Pick<ResolvedOptions, "client" | "listen" | "timeoutMs"> {
  readonly channel: string;
  readonly calls: Calls;
  readonly onWarning: (code: string, message: string) => void;
}

/** A subscription that works. */
interface Subscription {
  /** Rejects when the connection no longer answers. */
  check(): Promise<unknown>;
  end(): Promise<void> | void;
}

/** What one connection must do; `lost` may be called at any time. */
type Subscribe = (notified: (payload: string) => void, lost: () => void) => Promise<Subscription>;

/** Without a subscription a waiter asks again this often. */
const POLL_MS = 100;
/** How soon a silent loss of the connection is noticed while somebody waits. */
const CHECK_MS = 5_000;
/** How soon the connection goes back to a pool that is ending; a pool doesn't tell. */
const ENDING_MS = 500;
/** Doubled after every failure. */
const FIRST_RETRY_MS = 50;
/** When a lost subscription isn't back by then, waiters stop relying on it. */
const GIVE_UP_MS = 5_000;

/** Makes the {@link Listener} of a store. It connects when somebody first waits. */
export function createListener(options: ListenerOptions): Listener {
  const { client, timeoutMs, onWarning } = options;
  const waiters = new Map<string, Set<() => void>>();
  const subscribeOnce = subscriber(options);
  let current: Subscription | undefined;
  let connecting: Promise<boolean> | undefined;
  let checking: NodeJS.Timeout[] = [];
  let retryAt = 0;
  let warned = false;
  let closed = false;

  const wake = (ids: Iterable<string>) => {
    for (const id of ids) for (const call of [...(waiters.get(id) ?? [])]) call();
  };

  const drop = async (subscription: Subscription | undefined) => {
    current = undefined;
    for (const timer of checking) clearInterval(timer);
    await subscription?.end();
  };

  const connect = async (attempt: { over: boolean }): Promise<boolean> => {
    const lost = () => {
      attempt.over = true;
      if (current !== undefined && current === subscription) restore();
    };
    const subscription: Subscription = await subscribeOnce((payload) => wake([payload]), lost);
    if (attempt.over || closed) {
      await subscription.end();
      return false;
    }
    current = subscription;
    warned = false;
    const check = () => waiters.size > 0 && within(subscription.check(), timeoutMs).catch(lost);
    const leave = () => {
      if (!isPool(client) || client.ending !== true) return;
      drop(subscription);
      wake(waiters.keys());
    };
    checking = [setInterval(check, CHECK_MS), setInterval(leave, ENDING_MS)];
    for (const timer of checking) timer.unref();
    return true;
  };

  /** One attempt at a time, whoever asks. */
  const ensure = (): Promise<boolean> => {
    if (current !== undefined) return Promise.resolve(true);
    if (connecting !== undefined) return connecting;
    const attempt = { over: false };
    connecting = within(connect(attempt), timeoutMs + PROBE_MS)
      .catch((error: unknown) => {
        attempt.over = true;
        retryAt = performance.now() + GIVE_UP_MS;
        if (!warned) onWarning("listen-failed", `LISTEN doesn't work, so waiters poll: ${messageOf(error)}`);
        warned = true;
        return false;
      })
      .finally(() => {
        connecting = undefined;
      });
    return connecting;
  };

  /** Waiters are told when the subscription is back, because they may have missed something. */
  const restore = async () => {
    await drop(current);
    const giveUpAt = performance.now() + GIVE_UP_MS;
    for (let delayMs = FIRST_RETRY_MS; waiters.size > 0 && !closed && performance.now() < giveUpAt; delayMs *= 2) {
      if (await ensure()) break;
      await pause(delayMs);
    }
    wake(waiters.keys());
  };

  return {
    subscribe: async (signal) => {
      const subscribed = performance.now() >= retryAt && (await ensure());
      if (!subscribed && !closed) await pause(POLL_MS, signal);
      return subscribed && !closed;
    },
    add: (id, call) => {
      const calls = waiters.get(id) ?? new Set();
      waiters.set(id, calls.add(call));
      return () => {
        calls.delete(call);
        if (calls.size === 0 && waiters.get(id) === calls) waiters.delete(id);
      };
    },
    close: async () => {
      closed = true;
      wake(waiters.keys());
      await drop(current);
    },
  };
}

/** Notifications of a pooler in transaction mode go to nobody, though LISTEN succeeds: one of our own must arrive. */
const PROBE_MS = 1_000;
/** No id begins so. */
const PROBE = ":probe";

function subscriber({ client, listen, channel, calls }: ListenerOptions): Subscribe {
  if (isInProcess(client)) {
    return async (notified) => {
      const end = await client.listen(channel, notified);
      return { check: async () => {}, end };
    };
  }
  return async (notified, lost) => {
    const { connection, end } = await ownConnection(client, listen);
    let arrived = () => {};
    const probe = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const onNotification = (message: PostgresNotification) => {
      if (message.channel !== channel) return;
      if (message.payload === PROBE) arrived();
      else notified(message.payload ?? "");
    };
    connection.on("notification", onNotification);
    connection.on("error", lost);
    connection.on("end", lost);
    const stop = async () => {
      connection.removeListener("notification", onNotification);
      connection.removeListener("end", lost);
      await end();
      // Not removed: unheard, an error on the way out would end the process.
    };
    // The caller's only connection is shared, so statements take turns.
    const ask = (sql: string) =>
      connection === client ? calls.run({ text: sql, values: [], rowMode: "array" }) : connection.query(sql);
    // Asked again to see whether it still answers: pg_stat_activity goes on to say what the connection is for.
    const listenNow = `LISTEN "${channel}"`;
    try {
      await ask(listenNow);
      if (connection !== client) {
        await calls.run({ text: "SELECT pg_notify($1, $2)", values: [channel, PROBE], rowMode: "array" });
        await within(probe, PROBE_MS, "no notification arrives; a pooler in transaction mode? See the option `listen`");
      }
      return { check: () => ask(listenNow), end: stop };
    } catch (error) {
      await stop();
      throw error;
    }
  };
}

async function ownConnection(client: Exclude<PostgresClient, { exec: unknown }>, listen: ListenerOptions["listen"]) {
  if (typeof listen === "function") {
    const connection = await listen();
    return { connection, end: () => connection.end().catch(() => {}) };
  }
  if (isPool(client)) {
    const connection = await client.connect();
    // Closed and not given back: it still listens.
    return { connection, end: () => connection.release(true) };
  }
  // It stays the caller's; that its session listens on costs nothing.
  return { connection: client, end: () => {} };
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

function within<T>(promise: Promise<T>, ms: number, otherwise = `no answer within ${ms} ms`): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(otherwise)), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done);
    if (signal?.aborted) done();
  });
}
