import type { Server } from "./server.ts";

/** Wakes those who wait for a record, all over one subscription. */
export interface Waker {
  /**
   * Resolves when the record's key was named in a message, when messages may have been missed, on abort and on close.
   * @param mark - asks for such a message; false when there is nothing to wait for.
   */
  watch(fullKey: string, mark: (channel: string) => Promise<boolean>, signal: AbortSignal): Promise<void>;
  close(): void;
}

/** The subscription is opened by the first that waits. */
export function redisWaker(server: Server, prefix: string): Waker {
  // A channel for each instance: only those who wait are told, and they subscribe once for all records.
  const channel = `${prefix}wake:${globalThis.crypto.randomUUID()}`;
  const waiting = new Map<string, Set<() => void>>();
  let subscription: ReturnType<typeof server.driver.subscribe> | undefined;

  const wakeAll = () => {
    for (const waiters of waiting.values()) for (const wake of waiters) wake();
  };
  const subscribed = async () => {
    subscription ??= server.driver.subscribe(channel, {
      message: (fullKey) => {
        for (const wake of waiting.get(fullKey) ?? []) wake();
      },
      missed: wakeAll,
      ended: () => {
        subscription = undefined;
        wakeAll();
      },
    });
    const mine = subscription;
    try {
      await server.within(mine.ready);
    } catch (error) {
      mine.close();
      if (subscription === mine) subscription = undefined;
      throw error;
    }
  };

  return {
    watch: async (fullKey, mark, signal) => {
      if (signal.aborted) return;
      let wake = () => {};
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const waiters = waiting.get(fullKey) ?? new Set();
      waiting.set(fullKey, waiters.add(wake));
      signal.addEventListener("abort", wake);
      const check = async () => {
        await subscribed();
        if (!(await mark(channel))) wake();
        await woken;
      };
      try {
        await Promise.race([woken, check()]);
      } finally {
        signal.removeEventListener("abort", wake);
        waiters.delete(wake);
        if (waiters.size === 0 && waiting.get(fullKey) === waiters) waiting.delete(fullKey);
      }
    },
    close: () => {
      subscription?.close();
      wakeAll();
    },
  };
}
