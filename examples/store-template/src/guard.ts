import { OncewardError, StoreClosedError, StoreUnavailableError } from "@onceward/core";

/** What every store over a network needs: calls that end in time, errors of the right kind, and an end. */
export function guardCalls(timeoutMs: number) {
  const wakers = new Set<() => void>();
  let closed = false;

  /** Waits for the server, but not for ever. */
  async function call<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    if (closed) throw new StoreClosedError("This store was closed. Close it after its last use.");
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const expire = () => reject(new StoreUnavailableError(`The server did not answer within ${timeoutMs} ms.`));
      timer = setTimeout(expire, timeoutMs);
    });
    try {
      return await Promise.race([ask(), late]);
    } catch (error) {
      if (error instanceof OncewardError) throw error;
      // Tell apart what your server refuses for good: that is a StoreRejectedError.
      throw new StoreUnavailableError("The server could not be reached.", { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Waits until `wake` is called, the signal aborts or the store is closed; then undoes what `start` has begun. */
  async function watching(signal: AbortSignal, start: (wake: () => void) => Promise<() => void>): Promise<void> {
    if (closed) throw new StoreClosedError("This store was closed. Close it after its last use.");
    if (signal.aborted) return;
    const { promise, wake } = signalled();
    wakers.add(wake);
    signal.addEventListener("abort", wake);
    try {
      const stop = start(wake);
      // An abort must not wait for the subscription, and a subscription that comes late must still be ended.
      await Promise.race([promise, stop.then(() => promise)]);
      stop.then((unsubscribe) => unsubscribe()).catch(() => {});
    } finally {
      wakers.delete(wake);
      signal.removeEventListener("abort", wake);
    }
  }

  async function close(): Promise<void> {
    closed = true;
    for (const wake of wakers) wake();
  }

  return { call, watching, close };
}

function signalled() {
  let wake = () => {};
  const promise = new Promise<void>((resolve) => {
    wake = resolve;
  });
  return { promise, wake };
}
