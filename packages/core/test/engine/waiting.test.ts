import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { held, refused } from "./faulty-store.ts";
import { controlledWork, createWorld, follow, type World } from "./world.ts";

const name = { operation: "pay", key: "a-key-of-twelve" };
let world: World;
beforeEach(() => {
  world = createWorld();
});
afterEach(() => void vi.useRealTimers());

describe("waiting for another process", () => {
  it("is woken by watch, without a poll", async () => {
    const [runner, waiter] = [world.process(), world.process()];
    const work = controlledWork();
    void runner.once.run(name, work);
    await world.settle();
    const waiting = follow(waiter.once.run(name, work));
    await world.settle();
    expect(waiter.store.calls).toEqual(["claim", "watch"]);
    work.runs[0]?.end("paid");
    await world.settle();
    expect(waiting.value).toEqual({ value: "paid", replayed: true });
    expect(waiter.store.calls).toEqual(["claim", "watch", "claim"]);
    expect(waiter.heard()).toEqual(["waiting", "waited", "replayed"]);
    expect(waiter.events.at(-1)).toMatchObject({ via: "store" });
  });

  it("polls where the store has no watch", async () => {
    const [runner, waiter] = [world.process(), world.process({ pollMs: 100 }, ["watch"])];
    const work = controlledWork();
    void runner.once.run(name, work);
    await world.settle();
    const waiting = follow(waiter.once.run(name, work));
    await world.settle();
    work.runs[0]?.end("paid");
    await world.pass(125);
    expect(waiting.value?.value).toBe("paid");
  });

  it("polls four times a second by default where the store has no watch, every 5 seconds beside one", async () => {
    const processes = [world.process(), world.process({}, ["watch"]), world.process()] as const;
    for (const { once } of processes) void follow(once.run(name, controlledWork()));
    await world.pass(5_000);
    expect(processes[1].store.calls.length).toBeGreaterThanOrEqual(5_000 / 313);
    expect(processes[1].store.calls.length).toBeLessThanOrEqual(5_000 / 187 + 1);
    await world.pass(1_251);
    expect(processes[2].store.calls.filter((call) => call === "claim")).toHaveLength(2);
  });

  it("goes on by polling when watch fails", async () => {
    const [runner, waiter] = [world.process(), world.process({ pollMs: 100 })];
    waiter.store.always("watch", refused(new Error("no push here")));
    const work = controlledWork();
    void runner.once.run(name, work);
    await world.settle();
    const waiting = follow(waiter.once.run(name, work));
    await world.settle();
    expect(waiter.events.at(-1)).toMatchObject({ type: "store-error", call: "watch" });
    work.runs[0]?.end("paid");
    await world.pass(125);
    expect(waiting.value?.value).toBe("paid");
  });

  it("does not become a busy loop when watch wakes in vain", async () => {
    const [runner, waiter] = [world.process(), world.process({ pollMs: 1_000 })];
    waiter.store.always("watch", () => Promise.resolve());
    const work = controlledWork();
    void runner.once.run(name, work);
    await world.settle();
    const waiting = follow(waiter.once.run(name, work));
    await world.pass(20_000);
    expect(waiter.store.calls.length).toBeLessThan(100);
    work.runs[0]?.end("paid");
    await world.pass(1_250);
    expect(waiting.value?.value).toBe("paid");
  });

  it("takes over when the lease has passed: a crash sends no message", async () => {
    const [runner, waiter] = [world.process(), world.process({ pollMs: 60_000 })];
    const work = controlledWork();
    void runner.once.run(name, work);
    await world.settle();
    runner.crash();
    const waiting = follow(waiter.once.run(name, work));
    await world.pass(9_999);
    expect(work.runs).toHaveLength(1);
    await world.pass(2);
    expect(work.runs[1]?.context.attempt).toBe(2);
    work.runs[1]?.end("paid");
    await world.settle();
    expect(waiting.value).toEqual({ value: "paid", replayed: false });
    expect(waiter.heard()).toEqual(["waiting", "claimed", "abandoned", "completed"]);
  });

  it("shares one wait among the callers of a process, each with its own limit", async () => {
    const [runner, waiter] = [world.process(), world.process()];
    const work = controlledWork();
    void runner.once.run(name, work);
    await world.settle();
    const calls = [1_000, 2_000, 9_000].map((waitMs) => follow(waiter.once.run({ ...name, waitMs }, work)));
    await world.pass(2_500);
    expect(waiter.store.calls).toEqual(["claim", "watch"]);
    expect(calls.map(({ state }) => state)).toEqual(["rejected", "rejected", "pending"]);
    work.runs[0]?.end("paid");
    await world.settle();
    expect(calls[2]?.value?.value).toBe("paid");
  });

  it("stops watching when the last one has gone", async () => {
    const [runner, waiter] = [world.process(), world.process()];
    const aborted = vi.fn();
    waiter.store.next("watch", (send) => send().then(aborted));
    void runner.once.run(name, controlledWork());
    await world.settle();
    const waiting = follow(waiter.once.run({ ...name, waitMs: 1_000 }, controlledWork()));
    await world.pass(1_000);
    expect(waiting.error?.code).toBe("ERR_IN_PROGRESS");
    expect(aborted).toHaveBeenCalledTimes(1);
    expect(waiter.store.calls).toEqual(["claim", "watch"]);
  });

  it("asks once, though callers who could not wait left the claim they had joined", async () => {
    const [runner, waiter] = [world.process(), world.process()];
    const work = controlledWork();
    void runner.once.run(name, work);
    await world.settle();
    const claim = held();
    waiter.store.next("claim", claim.fault);
    const leader = follow(waiter.once.run(name, work));
    const hurried = follow(waiter.once.run({ ...name, waitMs: 0 }, work));
    await world.settle();
    claim.answer();
    await world.settle();
    expect(hurried.error?.code).toBe("ERR_IN_PROGRESS");
    expect(waiter.store.calls).toEqual(["claim", "watch"]);
    work.runs[0]?.end("paid");
    await world.settle();
    expect(leader.value?.value).toBe("paid");
  });

  it("counts the waiters of another process's run too", async () => {
    const [runner, waiter] = [world.process(), world.process({ maxWaiters: 1 })];
    const work = controlledWork();
    void runner.once.run(name, work);
    await world.settle();
    const waiting = follow(waiter.once.run(name, work));
    await world.settle();
    await expect(waiter.once.run(name, work)).rejects.toMatchObject({ code: "ERR_TOO_MANY_WAITERS" });
    work.runs[0]?.end("paid");
    await world.settle();
    expect(waiting.value?.value).toBe("paid");
  });
});

describe("a client that has gone", () => {
  const gone = new Error("client gone");

  it("stops waiting, in the process of the runner and elsewhere", async () => {
    const [runner, other] = [world.process(), world.process()];
    const work = controlledWork();
    const first = follow(runner.once.run(name, work));
    await world.settle();
    const client = new AbortController();
    const request = { ...name, signal: client.signal };
    const calls = [follow(runner.once.run(request, work)), follow(other.once.run(request, work))];
    await world.settle();
    client.abort(gone);
    await world.settle();
    expect(calls.map(({ error }) => error)).toEqual([gone, gone]);
    work.runs[0]?.end("paid");
    await world.settle();
    expect(first.value?.value).toBe("paid");
  });

  it("that stays through many calls is listened to once each time, and let go", async () => {
    const { once } = world.process();
    const { signal } = new AbortController();
    for (let call = 0; call < 3; call++) {
      const work = controlledWork();
      const request = { ...name, key: `key ${call}`, signal };
      const calls = [1, 2].map(() => once.run(request, work));
      await world.settle();
      expect(getEventListeners(signal, "abort")).toHaveLength(1);
      work.runs[0]?.end("paid");
      await Promise.all(calls);
      expect(getEventListeners(signal, "abort")).toHaveLength(0);
    }
  });

  it("never takes over", async () => {
    const [runner, waiter] = [world.process(), world.process()];
    const work = controlledWork();
    void runner.once.run(name, work);
    await world.settle();
    runner.crash();
    const client = new AbortController();
    const waiting = follow(waiter.once.run({ ...name, signal: client.signal }, work));
    await world.pass(5_000);
    client.abort(gone);
    await world.pass(60_000);
    expect(waiting.error).toBe(gone);
    expect(work.runs).toHaveLength(1);
    await expect(waiter.once.run({ ...name, signal: client.signal }, work)).rejects.toBe(gone);
  });

  it.each(["claimed", "running", "down"] as const)("does not run when it went during the claim: %s", async (answer) => {
    const [{ once, store, heard }, runner] = [world.process({ failOpen: true }), world.process()];
    const work = controlledWork();
    if (answer === "running") void runner.once.run(name, work);
    await world.settle();
    const ran = work.runs.length;
    const claim = held();
    store.next("claim", answer === "down" ? (send) => claim.fault(send).then(() => refused()(send)) : claim.fault);
    const client = new AbortController();
    const call = follow(once.run({ ...name, signal: client.signal }, work));
    await world.settle();
    client.abort(gone);
    claim.answer();
    await world.settle();
    expect(call.error).toBe(gone);
    expect(work.runs).toHaveLength(ran);
    if (answer === "claimed") {
      expect(heard()).toEqual(["released"]);
      expect(world.backend.records.size).toBe(0);
    }
  });

  it("emits an error when the claim can't be given back", async () => {
    const { once, store, events } = world.process();
    const claim = held();
    store.next("claim", claim.fault);
    store.next("release", refused());
    const client = new AbortController();
    const call = follow(once.run({ ...name, signal: client.signal }, controlledWork()));
    await world.settle();
    client.abort(gone);
    claim.answer();
    await world.settle();
    expect(call.error).toBe(gone);
    expect(events).toMatchObject([{ type: "store-error", call: "release" }]);
  });

  it("does not stop work that runs already", async () => {
    const { once } = world.process();
    const work = controlledWork();
    const client = new AbortController();
    const call = follow(once.run({ ...name, signal: client.signal }, work));
    await world.settle();
    client.abort(gone);
    expect(work.runs[0]?.context.signal.aborted).toBe(false);
    work.runs[0]?.end("paid");
    await world.settle();
    expect(call.value?.value).toBe("paid");
    expect((await once.run(name, work)).replayed).toBe(true);
  });
});
