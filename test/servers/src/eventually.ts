import { setTimeout as sleep } from "node:timers/promises";

/** Bounds of {@link eventually}. */
export interface EventuallyOptions {
  /** What is awaited, for the error's message. */
  readonly what: string;
  /** @defaultValue 20,000 */
  readonly timeoutMs?: number;
  /** @defaultValue 20 */
  readonly intervalMs?: number;
}

/**
 * Repeats a check until it returns something other than `undefined` and `false`; an error counts as "not yet".
 *
 * @throws Error naming what was awaited, with the last error of the check as its cause.
 */
export async function eventually<T>(
  check: () => Promise<T | undefined | false> | T | undefined | false,
  { what, timeoutMs = 20_000, intervalMs = 20 }: EventuallyOptions,
): Promise<T> {
  const giveUpAt = performance.now() + timeoutMs;
  let cause: unknown;
  do {
    try {
      const result = await check();
      if (result !== undefined && result !== false) return result;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    await sleep(intervalMs);
  } while (performance.now() < giveUpAt);
  const detail = cause instanceof Error ? `: ${cause.message}` : "";
  throw new Error(`not within ${timeoutMs} ms: ${what}${detail}`, { cause });
}
