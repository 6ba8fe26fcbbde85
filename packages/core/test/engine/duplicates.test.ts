import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { held, refused } from "./faulty-store.ts";
import { controlledWork, createWorld, follow, type World } from "./world.ts";

const name = { operation: "pay", key: "a-key-of-twelve" };
let world: World;
beforeEach(() => {
  world = createWorld();
});
afterEach(() => void vi.useRealTimers());

describe("joining the running call in this process", () => {
  it("costs the store nothing, and gives everybody the one result", async () => {
    const { once, store, heard } = world.process();
    const work = controlledWork();
    const calls = [1, 2, 3].map(() => once.run(name, work));
    await world.settle();
    work.runs[0]?.end("paid");
    expect(await Promise.all(calls)).toEqual([
      { value: "paid", replayed: false },
      { value: "paid", replayed: true },
      { value: "paid", replayed: true },
    ]);
    expect(work.runs).toHaveLength(1);
    expect(store.calls).toEqual(["claim", "complete"]);
    expect(heard()).toEqual([
      ...["waiting", "waiting", "claimed", "completed"],
      ...["waited", "replayed", "waited", "replayed"],
    ]);
  });

  it("compares fingerprints first", async () => {
    const { once, store, heard } = world.process();
    const work = controlledWork();
    const first = once.run({ ...name, payload: 1 }, work);
    await world.settle();
    await expect(once.run({ ...name, payload: 2 }, work)).rejects.toMatchObject({ code: "ERR_KEY_REUSED" });
    expect(store.calls).toEqual(["claim"]);
    expect(heard()).toContain("conflict");
    work.runs[0]?.end("one");
    await first;
  });

  it("waits for the store to say whose payload was first before it reports a conflict", async () => {
    const [here, there] = [world.process(), world.process()];
    const work = controlledWork();
    const elsewhere = there.once.run({ ...name, payload: 2 }, work);
    await world.settle();
    const claim = held();
    here.store.next("claim", claim.fault);
    const leader = follow(here.once.run({ ...name, payload: 1 }, work));
    const joiner = follow(here.once.run({ ...name, payload: 2 }, work));
    await world.settle();
    expect([leader.state, joiner.state]).toEqual(["pending", "pending"]);
    claim.answer();
    await world.settle();
    expect(leader.error?.code).toBe("ERR_KEY_REUSED");
    work.runs[0]?.end("two");
    await world.settle();
    expect(joiner.value).toEqual({ value: "two", replayed: true });
    await elsewhere;
  });

  it("reports the conflict to the joiner when the leader's payload turns out to be the first", async () => {
    const { once, store } = world.process();
    const work = controlledWork();
    const claim = held();
    store.next("claim", claim.fault);
    const leader = once.run({ ...name, payload: 1 }, work);
    const joiner = follow(once.run({ ...name, payload: 2 }, work));
    claim.answer();
    await world.settle();
    expect(joiner.error?.code).toBe("ERR_KEY_REUSED");
    work.runs[0]?.end("one");
    await leader;
    await expect(once.run({ ...name, payload: 2 }, work)).rejects.toMatchObject({ code: "ERR_KEY_REUSED" });
  });

  it("counts towards maxWaiters", async () => {
    const { once, events } = world.process({ maxWaiters: 2 });
    const work = controlledWork();
    const calls = [1, 2, 3].map(() => once.run(name, work));
    await world.settle();
    await expect(once.run(name, work)).rejects.toMatchObject({ code: "ERR_TOO_MANY_WAITERS", retryAfterMs: 1_000 });
    expect(events.find(({ type }) => type === "too-many-waiters")).toMatchObject({ waiters: 2 });
    work.runs[0]?.end("paid");
    await Promise.all(calls);
    expect((await once.run(name, work)).replayed).toBe(true);
  });

  it("makes room for the next when it leaves", async () => {
    const { once } = world.process({ maxWaiters: 2, waitMs: 1_000 });
    void once.run(name, controlledWork());
    await world.settle();
    for (let wave = 0; wave < 3; wave++) {
      const calls = [1, 2, 3].map(() => follow(once.run(name, controlledWork())));
      await world.pass(1_000);
      const codes = ["ERR_IN_PROGRESS", "ERR_IN_PROGRESS", "ERR_TOO_MANY_WAITERS"];
      expect(calls.map(({ error }) => error?.code)).toEqual(codes);
    }
  });

  it("lets 100 wait by default", async () => {
    const { once } = world.process();
    const work = controlledWork();
    const calls = Array.from({ length: 101 }, () => once.run(name, work));
    await world.settle();
    await expect(once.run(name, work)).rejects.toMatchObject({ code: "ERR_TOO_MANY_WAITERS" });
    work.runs[0]?.end("paid");
    expect(new Set((await Promise.all(calls)).map(({ value }) => value))).toEqual(new Set(["paid"]));
  });

  it("has a wait limit of its own", async () => {
    const { once, heard } = world.process();
    const work = controlledWork();
    const first = once.run(name, work);
    await world.settle();
    const short = follow(once.run({ ...name, waitMs: 1_000 }, work));
    const long = follow(once.run({ ...name, waitMs: 2_000 }, work));
    await world.pass(1_000);
    expect(short.error).toMatchObject({ code: "ERR_IN_PROGRESS", retryable: true });
    expect(long.state).toBe("pending");
    expect(heard().filter((type) => type === "wait-timeout")).toHaveLength(1);
    await world.pass(1_000);
    expect(long.error?.code).toBe("ERR_IN_PROGRESS");
    work.runs[0]?.end("paid");
    expect((await first).value).toBe("paid");
  });

  it("waits 30 seconds by default", async () => {
    const { once } = world.process();
    const work = controlledWork();
    void once.run(name, work);
    await world.settle();
    const joiner = follow(once.run(name, work));
    await world.pass(29_999);
    expect(joiner.state).toBe("pending");
    await world.pass(1);
    expect(joiner.error?.code).toBe("ERR_IN_PROGRESS");
  });

  it.each([{ elsewhere: false }, { elsewhere: true }])("rejects at once with waitMs 0: %o", async ({ elsewhere }) => {
    const runner = world.process();
    const { once, store } = elsewhere ? world.process() : runner;
    const work = controlledWork();
    void runner.once.run(name, work);
    await world.settle();
    await expect(once.run({ ...name, waitMs: 0 }, work)).rejects.toMatchObject({ code: "ERR_IN_PROGRESS" });
    expect(store.calls).toEqual(["claim"]);
  });

  it("with waitMs 0 still learns what the store says of a call that is only being claimed", async () => {
    const [here, there] = [world.process(), world.process()];
    await there.once.run(name, () => "paid");
    const claim = held();
    here.store.next("claim", claim.fault);
    const calls = [1, 2].map(() => here.once.run<string>({ ...name, waitMs: 0 }, () => "again"));
    await world.pass(60_000);
    claim.answer();
    expect(await Promise.all(calls)).toEqual([
      { value: "paid", replayed: true },
      { value: "paid", replayed: true },
    ]);
  });

  it("claims again after a release, in its remaining time", async () => {
    const { once } = world.process();
    const work = controlledWork();
    const first = follow(once.run(name, work));
    await world.settle();
    const [second, third] = [follow(once.run(name, work)), follow(once.run({ ...name, waitMs: 5_000 }, work))];
    await world.pass(3_000);
    work.runs[0]?.fail(new Error("declined"));
    await world.settle();
    expect(first.error?.message).toBe("declined");
    expect(work.runs).toHaveLength(2);
    await world.pass(1_999);
    expect(third.state).toBe("pending");
    await world.pass(1);
    expect(third.error?.code).toBe("ERR_IN_PROGRESS");
    work.runs[1]?.end("paid");
    expect((await second.promise).value).toBe("paid");
  });

  it("hears of a claim that failed", async () => {
    const { once, store } = world.process();
    store.next("claim", refused());
    const calls = [1, 2].map(() => once.run(name, () => "paid"));
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: "ERR_STORE_UNAVAILABLE" });
    expect(store.calls).toEqual(["claim"]);
  });

  it("join: false asks the store instead", async () => {
    const { once, store } = world.process({ join: false });
    const work = controlledWork();
    const calls = [1, 2].map(() => once.run(name, work));
    await world.settle();
    expect(store.calls).toEqual(["claim", "claim", "watch"]);
    work.runs[0]?.end("paid");
    expect((await Promise.all(calls)).map(({ value }) => value)).toEqual(["paid", "paid"]);
    expect(work.runs).toHaveLength(1);
  });
});

describe("another payload under the same key", () => {
  it("is rejected by default, also when the record is completed elsewhere", async () => {
    const [here, there] = [world.process(), world.process()];
    await here.once.run({ ...name, payload: 1 }, () => "one");
    await expect(there.once.run({ ...name, payload: 2 }, () => "two")).rejects.toMatchObject({
      code: "ERR_KEY_REUSED",
    });
    expect(there.heard()).toEqual(["conflict"]);
  });

  it("is rejected while the first one runs elsewhere, and after its runner died", async () => {
    const [here, there] = [world.process(), world.process()];
    void here.once.run({ ...name, payload: 1 }, controlledWork());
    await world.settle();
    const other = () => there.once.run({ ...name, payload: 2 }, () => "two");
    await expect(other()).rejects.toMatchObject({ code: "ERR_KEY_REUSED" });
    // It has nothing to wait for.
    expect(there.store.calls).toEqual(["claim"]);
    here.crash();
    await world.pass(10_000);
    await expect(other()).rejects.toMatchObject({ code: "ERR_KEY_REUSED" });
  });

  it("replays anyway with onReuse: replay", async () => {
    const { once } = world.process({ onReuse: "replay" });
    await once.run({ ...name, payload: 1 }, () => "one");
    expect(await once.run({ ...name, payload: 2 }, () => "two")).toEqual({ value: "one", replayed: true });
  });

  it("replays anyway what a caller with another policy left", async () => {
    const { once } = world.process();
    await once.run({ ...name, payload: 1 }, () => "one");
    const lenient = { ...name, payload: 2, onReuse: "replay" as const };
    expect(await once.run(lenient, () => "two")).toEqual({ value: "one", replayed: true });
  });

  it("joins anyway with onReuse: replay", async () => {
    const { once } = world.process({ onReuse: "replay" });
    const work = controlledWork();
    const calls = [1, 2].map((payload) => once.run({ ...name, payload }, work));
    await world.settle();
    work.runs[0]?.end("one");
    expect((await Promise.all(calls)).map(({ value }) => value)).toEqual(["one", "one"]);
  });

  it("is an operation of its own with onReuse: separate", async () => {
    const { once } = world.process({ onReuse: "separate" });
    await once.run({ ...name, payload: 1 }, () => "one");
    expect(await once.run({ ...name, payload: 2 }, () => "two")).toEqual({ value: "two", replayed: false });
    expect(await once.run({ ...name, payload: 1 }, () => "three")).toEqual({ value: "one", replayed: true });
  });
});
