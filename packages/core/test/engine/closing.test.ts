import { memoryStore } from "@onceward/store-memory";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { onceward } from "../../src/index.ts";
import { held, refused } from "./faulty-store.ts";
import { controlledWork, createWorld, follow, type World } from "./world.ts";

const name = { operation: "pay", key: "a-key-of-twelve" };
let world: World;
beforeEach(() => {
  world = createWorld();
});
afterEach(() => void vi.useRealTimers());

it("close waits for running work, and refuses new", async () => {
  const { once, store } = world.process();
  const work = controlledWork();
  const call = once.run(name, work);
  await world.settle();
  const closing = follow(once.close({ drainMs: 5_000 }));
  await expect(once.run(name, work)).rejects.toMatchObject({ code: "ERR_CLOSED", retryable: true });
  await world.pass(4_000);
  expect(closing.state).toBe("pending");
  work.runs[0]?.end("paid");
  await world.settle();
  expect(closing.state).toBe("fulfilled");
  expect((await call).value).toBe("paid");
  await expect(store.ping()).rejects.toMatchObject({ code: "ERR_STORE_CLOSED" });
});

it("close waits for all running work", async () => {
  const { once } = world.process();
  const work = controlledWork();
  for (const key of ["one", "two"]) void once.run({ ...name, key }, work);
  await world.settle();
  const closing = follow(once.close({ drainMs: 5_000 }));
  work.runs[0]?.end("paid");
  await world.settle();
  expect(closing.state).toBe("pending");
  work.runs[1]?.end("paid");
  await world.settle();
  expect(closing.state).toBe("fulfilled");
});

it("close may be called twice: both wait for the work, and not for each other's drainMs", async () => {
  const { once } = world.process();
  const work = controlledWork();
  void once.run(name, work);
  await world.settle();
  const closings = [60_000, 120_000].map((drainMs) => follow(once.close({ drainMs })));
  await world.pass(1_000);
  expect(closings.map(({ state }) => state)).toEqual(["pending", "pending"]);
  work.runs[0]?.end("paid");
  await world.settle();
  expect(closings.map(({ state }) => state)).toEqual(["fulfilled", "fulfilled"]);
});

it("close waits no longer than drainMs, and work that ends later still answers its callers", async () => {
  const { once } = world.process();
  const work = controlledWork();
  const calls = [1, 2].map(() => once.run(name, work));
  await world.settle();
  const closing = follow(once.close({ drainMs: 5_000 }));
  await world.pass(5_000);
  expect(closing.state).toBe("fulfilled");
  work.runs[0]?.end("paid");
  expect((await Promise.all(calls)).map(({ value }) => value)).toEqual(["paid", "paid"]);
});

it("close does not wait when nothing runs, waits 5 seconds by default, and not at all with drainMs 0", async () => {
  const [idle, patient, hurried] = [world.process(), world.process(), world.process()];
  await idle.once.close();
  for (const { once } of [patient, hurried]) void follow(once.run({ ...name, scope: "own" }, controlledWork()));
  void follow(hurried.once.run({ ...name, key: "another" }, controlledWork()));
  await world.settle();
  const [late, soon] = [follow(patient.once.close()), follow(hurried.once.close({ drainMs: 0 }))];
  await world.pass(1);
  expect([late.state, soon.state]).toEqual(["pending", "fulfilled"]);
  await world.pass(5_000);
  expect(late.state).toBe("fulfilled");
  await expect(patient.once.close({ drainMs: -1 })).rejects.toMatchObject({ code: "ERR_INVALID_OPTION" });
});

it("close ends the wait of those who wait for another process", async () => {
  const [runner, waiter] = [world.process(), world.process()];
  void runner.once.run(name, controlledWork());
  await world.settle();
  const waiting = follow(waiter.once.run(name, controlledWork()));
  await world.settle();
  await waiter.once.close();
  await world.settle();
  expect(waiting.error?.code).toBe("ERR_CLOSED");
});

it("close gives back a claim that was under way", async () => {
  const { once, store } = world.process();
  const claim = held();
  store.next("claim", claim.fault);
  const work = controlledWork();
  const call = follow(once.run(name, work));
  claim.arrive();
  await world.settle();
  void once.close();
  claim.answer();
  await world.settle();
  expect(call.error?.code).toBe("ERR_CLOSED");
  expect(work.runs).toHaveLength(0);
});

it("close ends the retries of an outcome that the store can't take", async () => {
  const { once, store } = world.process();
  store.always("complete", refused());
  const call = once.run(name, () => "paid");
  await world.pass(1_000);
  expect((await call).value).toBe("paid");
  const closing = follow(once.close({ drainMs: 2_000 }));
  await world.pass(2_000);
  expect(closing.state).toBe("fulfilled");
  await world.pass(10_000);
  const { length } = store.calls;
  await world.pass(600_000);
  expect(store.calls).toHaveLength(length);
});

it("sweeps a store that has no expiry of its own, in batches, until closed", async () => {
  const { once, store, events } = world.process({ ttlMs: 1_000, sweepIntervalMs: 10_000 });
  for (let key = 0; key < 1_500; key++) await once.run({ operation: "pay", key: `key ${key}` }, () => key);
  await world.pass(10_010);
  expect(world.backend.records.size).toBe(0);
  expect(events.at(-1)).toMatchObject({ type: "swept", removed: 1_500 });
  store.next("sweep", refused(new Error("disk full")));
  await world.pass(10_010);
  expect(events.at(-1)).toMatchObject({ type: "store-warning", code: "sweep-failed" });
  await world.pass(10_010);
  expect(store.calls.filter((call) => call === "sweep")).toHaveLength(4);
  const sweep = held();
  store.next("sweep", sweep.fault);
  await world.pass(10_010);
  await once.close();
  sweep.answer();
  await world.pass(100_000);
  expect(store.calls.filter((call) => call === "sweep")).toHaveLength(5);
});

it.each([
  { without: ["sweep"] as const, sweepIntervalMs: 1_000 },
  { without: [], sweepIntervalMs: 0 },
])("does not sweep: %o", async ({ without, sweepIntervalMs }) => {
  const { store } = world.process({ sweepIntervalMs }, without);
  await world.pass(10_000);
  expect(store.calls).toEqual([]);
});

it("passes the store's own events on, until closed", async () => {
  let tell = (_event: { type: "store-warning"; code: string; message: string }) => {};
  const unsubscribe = vi.fn();
  const store = memoryStore();
  const once = onceward({
    store: Object.assign(store, {
      onEvent: (listener: typeof tell) => {
        tell = listener;
        return unsubscribe;
      },
    }),
  });
  const heard = vi.fn();
  once.on("store-warning", heard);
  tell({ type: "store-warning", code: "evicting", message: "memory is short" });
  expect(heard).toHaveBeenCalledWith(expect.objectContaining({ code: "evicting", at: Date.now() }));
  await once.close();
  expect(unsubscribe).toHaveBeenCalledTimes(1);
});
