import { isOncewardError, StoreUnavailableError } from "./errors.ts";
import type { StoreEvent } from "./events.ts";
import { checkOptions, count, durationMs } from "./options.ts";
import { monotonicNow } from "./runtime.ts";
import type { Store } from "./store.ts";

/** Options of {@link withCircuitBreaker}. */
export interface CircuitBreakerOptions {
  /** How many `StoreUnavailableError`s in a row open the circuit. Default: 5. */
  readonly failures?: number | undefined;
  /** How long nothing new is sent before a probe may try. Default: 10 seconds. */
  readonly openMs?: number | undefined;
}

type State = Extract<StoreEvent, { type: "circuit" }>["state"];

/**
 * Spares a store that is down, and callers the wait for its time-out: after some failures in a row `claim`, `find` and
 * `list` are refused at once, and one probe at a time decides when it is back. What ends work that runs already
 * (`complete`, `renew`, `release`, `saveStep`) always passes, and its success closes the circuit too.
 */
export function withCircuitBreaker(store: Store, options: CircuitBreakerOptions = {}): Store {
  checkOptions("withCircuitBreaker", options, { failures: count, openMs: durationMs });
  const { failures: limit = 5, openMs = 10_000 } = options;
  const listeners = new Set<(event: StoreEvent) => void>();
  let state: State = "closed";
  let failures = 0;
  let openUntil = 0;
  let probing = false;

  function change(next: State): void {
    if (state === next) return;
    state = next;
    for (const listener of listeners) listener({ type: "circuit", state, failures });
  }

  function succeeded(): void {
    failures = 0;
    change("closed");
  }

  function failed(error: unknown): void {
    // Any other error is an answer: the store is there.
    if (!isOncewardError(error, "ERR_STORE_UNAVAILABLE")) {
      succeeded();
      return;
    }
    failures += 1;
    if (state === "closed" && failures < limit) return;
    // While open, the calls that always pass may fail as well: that must not put the probe off for ever.
    if (state !== "open") openUntil = monotonicNow() + openMs;
    change("open");
  }

  async function observed<Result>(call: () => Promise<Result>): Promise<Result> {
    try {
      const result = await call();
      succeeded();
      return result;
    } catch (error) {
      failed(error);
      throw error;
    }
  }

  /** Lets a call through unless the circuit is open; half open, it lets one. */
  async function gated<Result>(call: () => Promise<Result>): Promise<Result> {
    if (state === "closed") return observed(call);
    const remainingMs = openUntil - monotonicNow();
    if (probing || remainingMs > 0) {
      throw new StoreUnavailableError(
        `The store has failed ${failures} times in a row and is left alone for a while (circuit breaker)`,
        {
          retryAfterMs: Math.max(Math.ceil(remainingMs), 1_000),
        },
      );
    }
    probing = true;
    change("half-open");
    try {
      return await observed(call);
    } finally {
      probing = false;
    }
  }

  return {
    claim: (id, request) => gated(() => store.claim(id, request)),
    find: (id) => gated(() => store.find(id)),
    complete: (id, token, outcome, ttlMs) => observed(() => store.complete(id, token, outcome, ttlMs)),
    release: (id, token) => observed(() => store.release(id, token)),
    renew: (id, token, leaseMs) => observed(() => store.renew(id, token, leaseMs)),
    saveStep: (id, token, name, result) => observed(() => store.saveStep(id, token, name, result)),
    remove: (id) => observed(() => store.remove(id)),
    ping: () => observed(() => store.ping()),
    close: () => store.close(),
    // Capabilities stay what they were.
    ...(store.list && {
      async *list(filter) {
        const records = store.list!(filter)[Symbol.asyncIterator]();
        // The first answer tells whether the store is there.
        for (let next = await gated(() => records.next()); !next.done; next = await records.next()) yield next.value;
      },
    }),
    ...(store.watch && { watch: (id, seenFence, signal) => store.watch!(id, seenFence, signal) }),
    ...(store.sweep && { sweep: (limit) => store.sweep!(limit) }),
    onEvent(listener) {
      listeners.add(listener);
      const unsubscribe = store.onEvent?.(listener);
      return () => {
        listeners.delete(listener);
        unsubscribe?.();
      };
    },
  } satisfies Store as Store;
}
