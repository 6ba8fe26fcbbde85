import type { Store } from "@onceward/core";
import { expect } from "vitest";
import { bytes, claimed, type Group, hourMs, request, unique } from "./context.ts";
import { within } from "./waiting.ts";

/** Every method, called once with plausible arguments. */
export function everyCall(store: Store, id: string, token: string): Readonly<Record<string, () => Promise<unknown>>> {
  const { list, watch, sweep } = store;
  return {
    claim: () => store.claim(id, request({ token })),
    complete: () => store.complete(id, token, bytes("done"), hourMs),
    release: () => store.release(id, token),
    renew: () => store.renew(id, token, hourMs),
    saveStep: () => store.saveStep(id, token, "step", bytes("1")),
    find: () => store.find(id),
    remove: () => store.remove(id),
    ping: () => store.ping(),
    ...(list && { list: () => list.call(store)[Symbol.asyncIterator]().next() }),
    ...(watch && { watch: () => watch.call(store, id, 1, new AbortController().signal) }),
    ...(sweep && { sweep: () => sweep.call(store, 10) }),
  };
}

/** How a call ended: the code of its error, or the fact that it resolved. */
export const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "resolved",
    (error: { code?: string }) => String(error?.code ?? error),
  );

/** S11: after `close`. */
export const closing: Group = (declare) => {
  declare("S11.1 after close every method rejects with StoreClosedError", async ({ another, patienceMs }) => {
    const store = await another();
    const [id, token] = [unique(), unique()];
    await claimed(store, id, request({ token }));
    await store.close();
    for (const [name, call] of Object.entries(everyCall(store, id, token))) {
      // `async`, because a method that throws instead of rejecting is wrong as well.
      const promise = call();
      expect(await within(name, codeOf(promise), patienceMs), `${name} after close`).toBe("ERR_STORE_CLOSED");
    }
  });

  declare("S11.2 a second close is harmless, also at the same time", async ({ another }) => {
    const store = await another();
    await store.ping();
    await Promise.all([store.close(), store.close()]);
    await store.close();
  });

  declare("S11.3 closing one instance leaves records and other instances alone", async ({ store, another }) => {
    const closed = await another();
    const [id, token] = [unique(), unique()];
    await claimed(closed, id, request({ token }));
    await closed.close();
    await store.ping();
    expect(await store.find(id)).toMatchObject({ state: "running", token });
    expect(await store.complete(id, token, bytes("done"), hourMs)).toBe(true);
    const later = await another();
    expect((await later.find(id))?.state).toBe("completed");
  });

  declare(
    "S11.4 calls under way when the store is closed end, one way or the other",
    async ({ another, patienceMs }) => {
      const store = await another();
      await store.ping();
      const calls = Array.from({ length: 20 }, () => codeOf(store.claim(unique(), request())));
      await store.close();
      const codes = new Set(await within("calls under way", Promise.all(calls), patienceMs));
      for (const code of codes) expect(["resolved", "ERR_STORE_CLOSED", "ERR_STORE_UNAVAILABLE"]).toContain(code);
    },
  );

  declare("S11.5 an instance that was never used can be closed", async ({ another }) => {
    await (await another()).close();
  });
};
