import { StoreUnavailableError } from "@onceward/core";
import type { Waker } from "../waker.ts";
import type { Quorum } from "./quorum.ts";

/** Waits until a server tells that the record has changed, provided that a majority may hold it unchanged. */
export async function quorumWatch(
  { members, majority, gated }: Quorum,
  wakers: readonly Waker[],
  id: string,
  seenFence: number,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return;
  const ending = new AbortController();
  const end = () => ending.abort();
  signal.addEventListener("abort", end);
  let changed = 0;
  const watches = members.map(({ server, vote }, index) => {
    const mark = async (channel: string) => {
      const same = await vote(gated.watch, id, [String(seenFence), channel], (reply) => reply === 1);
      if (!same) changed += 1;
      // A server that has merely missed the claim must not send the waiter round in circles.
      if (changed > members.length - majority) end();
      return true;
    };
    return wakers[index]?.watch(`${server.driver.keyPrefix}${server.keyOf(id)}`, mark, ending.signal);
  });
  try {
    // The first that is woken ends it; of those that fail, a minority is borne.
    await new Promise<void>((resolve, reject) => {
      let failed = 0;
      for (const watch of watches) {
        watch?.then(resolve, (error) => {
          failed += 1;
          if (failed >= majority)
            reject(new StoreUnavailableError("A majority of the Redis servers can't be watched", { cause: error }));
        });
      }
    });
  } finally {
    signal.removeEventListener("abort", end);
    end();
  }
}
