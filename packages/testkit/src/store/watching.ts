import { getEventListeners } from "node:events";
import type { Store } from "@onceward/core";
import { expect } from "vitest";
import { bytes, claimed, type Group, hourMs, request, unique } from "./context.ts";
import { eventually, staysPending, tick, within } from "./waiting.ts";

type Watching = Store & Required<Pick<Store, "watch">>;

const never = (): AbortSignal => new AbortController().signal;

async function running(store: Store, leaseMs = hourMs): Promise<{ id: string; token: string; fence: number }> {
  const [id, token] = [unique(), unique()];
  const { fence } = await claimed(store, id, request({ token, leaseMs }));
  return { id, token, fence };
}

/** S10: duplicates are woken. */
export const watching: Group = (declare) => {
  const watchCase = (name: string, run: Parameters<typeof declare<"watch">>[1]) => declare<"watch">(name, run, "watch");

  const endings: Readonly<Record<string, (store: Store, id: string, token: string) => Promise<unknown>>> = {
    "a completion": (store, id, token) => store.complete(id, token, bytes("done"), hourMs),
    "a release": (store, id, token) => store.release(id, token),
    "a release with steps": async (store, id, token) => {
      await store.saveStep(id, token, "step", bytes("1"));
      await store.release(id, token);
    },
    "a removal": (store, id) => store.remove(id),
  };
  for (const [number, [ending, end]] of Object.entries(endings).entries()) {
    watchCase(`S10.${number + 1} a watch is resolved by ${ending} on another instance`, async (context) => {
      const { store, another, patienceMs } = context;
      const other = await another();
      const { id, token, fence } = await running(store);
      const watch = other.watch(id, fence, never());
      expect(await staysPending(watch), "pending while the record is running").toBe(true);
      await end(store, id, token);
      await within(`watch after ${ending}`, watch, patienceMs);
    });
  }

  watchCase("S10.5 a watch is resolved by a takeover", async ({ store, another, shortMs, pass, patienceMs }) => {
    const other = await another();
    const { id, fence } = await running(store, shortMs);
    const watch = other.watch(id, fence, never());
    await pass(shortMs);
    expect(await staysPending(watch), "pending although the lease is over").toBe(true);
    await claimed(store, id, request());
    await within("watch after a takeover", watch, patienceMs);
  });

  watchCase("S10.6 a watch of what is no longer running resolves at once", async ({ store, patienceMs }) => {
    const resolves = (what: string, id: string, fence: number) =>
      within(`watch of ${what}`, store.watch(id, fence, never()), patienceMs);
    await resolves("an absent record", unique(), 1);
    const done = await running(store);
    await store.complete(done.id, done.token, bytes("done"), hourMs);
    await resolves("a completed record", done.id, done.fence);
    const released = await running(store);
    await store.saveStep(released.id, released.token, "step", bytes("1"));
    await store.release(released.id, released.token);
    await resolves("a released record", released.id, released.fence);
    await claimed(store, released.id, request());
    await resolves("a record claimed anew", released.id, released.fence);
  });

  watchCase("S10.7 no completion is missed, whenever it comes", async ({ store, another, patienceMs }) => {
    const other = await another();
    const watches = Array.from({ length: 60 }, async (_, n) => {
      const { id, token, fence } = await running(store);
      const watch = other.watch(id, fence, never());
      // From the same turn of the event loop to some turns, and some milliseconds, later.
      for (let turn = 0; turn < n % 6; turn++) await (n % 2 === 0 ? Promise.resolve() : tick());
      if (n % 10 === 9) await tick(n / 10);
      await store.complete(id, token, bytes("done"), hourMs);
      await watch;
    });
    await within("watches of records that were completed", Promise.all(watches), patienceMs);
  });

  watchCase("S10.8 an abort resolves the watch, and never rejects", async ({ store, patienceMs }) => {
    const { id, token, fence } = await running(store);
    const [aborting, staying] = [new AbortController(), new AbortController()];
    const [aborted, other] = [store.watch(id, fence, aborting.signal), store.watch(id, fence, staying.signal)];
    aborting.abort(new Error("the caller has gone"));
    await within("watch after its abort", aborted, patienceMs);
    await within("watch with an aborted signal", store.watch(id, fence, aborting.signal), patienceMs);
    expect(await staysPending(other), "the other watch of the record stays").toBe(true);
    await store.complete(id, token, bytes("done"), hourMs);
    await within("the other watch", other, patienceMs);
  });

  watchCase(
    "S10.9 closing resolves the watches of this instance, and of no other",
    async ({ store, another, patienceMs }) => {
      const closing = await another();
      const { id, token, fence } = await running(store);
      const [ended, staying] = [closing.watch(id, fence, never()), store.watch(id, fence, never())];
      expect(await staysPending(Promise.race([ended, staying]))).toBe(true);
      await closing.close();
      await within("watch of a closed store", ended, patienceMs);
      expect(await staysPending(staying)).toBe(true);
      await store.complete(id, token, bytes("done"), hourMs);
      await within("watch of another store", staying, patienceMs);
    },
  );

  watchCase("S10.10 500 watches of one record, and of many, are all woken", async ({ store, another, patienceMs }) => {
    const other = await another();
    const one = await running(store);
    const many = await Promise.all(Array.from({ length: 50 }, () => running(store)));
    const watches = [
      ...Array.from({ length: 500 }, () => other.watch(one.id, one.fence, never())),
      ...many.map(({ id, fence }) => other.watch(id, fence, never())),
    ];
    await Promise.all([one, ...many].map(({ id, token }) => store.complete(id, token, bytes("done"), hourMs)));
    await within("all watches", Promise.all(watches), patienceMs);
  });

  watchCase("S10.11 a watch leaves no listener on its signal", async ({ store, patienceMs }) => {
    const { signal } = new AbortController();
    const watchOnce = async (watched: Watching) => {
      const { id, token, fence } = await running(watched);
      const watch = watched.watch(id, fence, signal);
      await watched.complete(id, token, bytes("done"), hourMs);
      await within("watch", watch, patienceMs);
    };
    for (let n = 0; n < 5; n++) await watchOnce(store);
    await within("watch of an absent record", store.watch(unique(), 1, signal), patienceMs);
    const none = () => getEventListeners(signal, "abort").length === 0;
    await eventually("no listener is left on the signal", none, patienceMs);
  });

  watchCase("S10.12 renewals and steps don't end a watch", async ({ store, patienceMs }) => {
    const { id, token, fence } = await running(store);
    const watch = store.watch(id, fence, never());
    await store.renew(id, token, hourMs);
    await store.saveStep(id, token, "step", bytes("1"));
    await store.claim(id, request({ token }));
    expect(await staysPending(watch)).toBe(true);
    await store.release(id, token);
    await within("watch after the release", watch, patienceMs);
  });
};
