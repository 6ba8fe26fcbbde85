import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { StoreRejectedError } from "../../src/index.ts";
import { held, refused, replyLost } from "./faulty-store.ts";
import { controlledWork, createWorld, follow, type World } from "./world.ts";

const name = { operation: "pay", key: "a-key-of-twelve" };
let world: World;
beforeEach(() => {
  world = createWorld();
});
afterEach(() => void vi.useRealTimers());

describe("the store is unreachable at the claim", () => {
  it("fails closed: nothing runs", async () => {
    const { once, store, events } = world.process();
    store.next("claim", refused());
    const work = controlledWork();
    await expect(once.run(name, work)).rejects.toMatchObject({ code: "ERR_STORE_UNAVAILABLE", retryable: true });
    expect(work.runs).toHaveLength(0);
    expect(events).toMatchObject([{ type: "store-error", call: "claim" }]);
  });

  it("takes a driver's own error, of any kind, for an unreachable store", async () => {
    const { once, store } = world.process();
    for (const thrown of [new Error("ECONNRESET"), "ECONNRESET"]) {
      store.next("claim", refused(thrown));
      await expect(once.run(name, () => 1)).rejects.toMatchObject({
        code: "ERR_STORE_UNAVAILABLE",
        message: expect.stringContaining("ECONNRESET"),
        cause: thrown,
      });
    }
  });

  it("runs with failOpen, and keeps the outcome when the store is back at the end", async () => {
    const { once, store, heard } = world.process({ failOpen: true });
    store.next("claim", refused());
    const work = controlledWork();
    const call = once.run(name, work);
    await world.settle();
    expect(work.runs[0]?.context).toMatchObject({ fence: 0, attempt: 1, protected: true });
    work.runs[0]?.end("paid");
    expect(await call).toEqual({ value: "paid", replayed: false });
    expect(heard()).toEqual(["store-error", "failed-open", "completed"]);
    expect(await once.run<string>(name, () => "again")).toEqual({ value: "paid", replayed: true });
  });

  it("with failOpen makes up for the claim when the store is back in the middle", async () => {
    const [here, there] = [world.process({ failOpen: true }), world.process()];
    here.store.next("claim", refused(), refused());
    const work = controlledWork();
    const call = here.once.run(name, work);
    await world.settle();
    // Without a claim nothing can be recorded, nor lost.
    expect(await work.runs[0]?.context.step("early", () => 1)).toBe(1);
    await world.pass(9_000);
    const { context } = work.runs[0] ?? expect.fail();
    expect(context.fence).toBeGreaterThan(0);
    expect(context.signal.aborted).toBe(false);
    expect(await context.step("late", () => 2)).toBe(2);
    expect(here.store.calls.filter((called) => called === "saveStep")).toHaveLength(1);
    const duplicate = follow(there.once.run(name, work));
    await world.pass(15_000);
    work.runs[0]?.end("paid");
    await call;
    await world.pass(100);
    expect(duplicate.value).toEqual({ value: "paid", replayed: true });
    expect(work.runs).toHaveLength(1);
  });

  it("with failOpen finds its own claim whose reply was lost", async () => {
    const { once, store } = world.process({ failOpen: true });
    store.next("claim", replyLost);
    expect((await once.run(name, () => "paid")).value).toBe("paid");
    expect((await once.run(name, () => "again")).replayed).toBe(true);
  });

  it("with failOpen may rerun what was completed, and then changes no outcome", async () => {
    const { once, store, heard } = world.process({ failOpen: true });
    await once.run(name, () => "first");
    store.next("claim", refused());
    expect(await once.run<string>(name, () => "second")).toEqual({ value: "second", replayed: false });
    expect(await once.run<string>(name, () => "third")).toEqual({ value: "first", replayed: true });
    expect(heard()).toEqual(["claimed", "completed", "store-error", "failed-open", "replayed"]);
  });

  it("with failOpen aborts the work when the store says that another has the record", async () => {
    const [here, there] = [world.process({ failOpen: true }), world.process()];
    void there.once.run(name, controlledWork());
    await world.settle();
    here.store.next("claim", refused());
    const work = controlledWork();
    const call = follow(here.once.run(name, work));
    await world.settle();
    const { signal } = work.runs[0]?.context ?? expect.fail();
    await world.pass(3_334);
    expect(signal.reason).toMatchObject({ code: "ERR_LEASE_LOST", reason: "superseded" });
    work.runs[0]?.end("paid");
    await world.settle();
    expect(call.value).toEqual({ value: "paid", replayed: false });
  });

  it("with failOpen says what a store objects to that is back: the claim, not the outcome", async () => {
    const { once, store, events } = world.process({ failOpen: true });
    store.next("claim", refused(), refused(new StoreRejectedError("no such table")));
    expect((await once.run(name, () => "paid")).value).toBe("paid");
    expect(events.map(({ type }) => type)).not.toContain("oversize");
    expect(store.calls).toEqual(["claim", "claim"]);
  });

  it("with failOpen releases nothing it does not hold when the work throws", async () => {
    const { once, store, heard } = world.process({ failOpen: true });
    store.next("claim", refused());
    await expect(once.run(name, () => Promise.reject(new Error("declined")))).rejects.toThrow("declined");
    expect(heard()).toEqual(["store-error", "failed-open", "released"]);
  });

  it("with failOpen runs once among concurrent duplicates in the process, whoever led", async () => {
    const { once, store } = world.process();
    store.always("claim", refused());
    const work = controlledWork();
    const closed = follow(once.run(name, work));
    const calls = [1, 2].map(() => once.run({ ...name, failOpen: true }, work));
    await world.settle();
    expect(closed.error?.code).toBe("ERR_STORE_UNAVAILABLE");
    work.runs[0]?.end("paid");
    await world.pass(1_000);
    expect((await Promise.all(calls)).map(({ value }) => value)).toEqual(["paid", "paid"]);
    expect(work.runs).toHaveLength(1);
  });

  it("does not fail open when the store refuses", async () => {
    const { once, store } = world.process({ failOpen: true });
    store.next("claim", refused(new StoreRejectedError("no such table")));
    await expect(once.run(name, () => 1)).rejects.toMatchObject({ code: "ERR_STORE_REJECTED" });
  });
});

describe("the store is unreachable at complete", () => {
  it("answers with the true result after completeWaitMs, joiners too, and keeps it when the store is back", async () => {
    const [here, there] = [world.process(), world.process()];
    here.store.always("complete", refused());
    const calls = [1, 2].map(() => follow(here.once.run(name, () => "paid")));
    await world.pass(999);
    expect(calls.map(({ state }) => state)).toEqual(["pending", "pending"]);
    await world.pass(1);
    expect(calls.map(({ value }) => value)).toEqual([
      { value: "paid", replayed: false },
      { value: "paid", replayed: true },
    ]);
    expect(here.events).toContainEqual(expect.objectContaining({ type: "store-error", call: "complete" }));
    // Also those who come later, as long as the outcome is on its way.
    expect(await here.once.run<string>(name, () => "again")).toEqual({ value: "paid", replayed: true });
    await expect(here.once.run({ ...name, payload: 2 }, () => "other")).rejects.toMatchObject({
      code: "ERR_KEY_REUSED",
    });
    here.store.always("complete", undefined);
    await world.pass(3_334);
    expect(here.heard()).toContain("completed");
    expect(await there.once.run<string>(name, () => "again")).toEqual({ value: "paid", replayed: true });
  });

  it("waits for a slow store no longer than completeWaitMs", async () => {
    const { once, store } = world.process({ completeWaitMs: 0 });
    const complete = held();
    store.next("complete", complete.fault);
    const call = follow(once.run(name, () => "paid"));
    await world.pass(1);
    expect(call.value?.value).toBe("paid");
    complete.answer();
    await world.settle();
    expect((await once.run(name, () => "again")).replayed).toBe(true);
    expect(store.calls).toEqual(["claim", "complete", "claim"]);
  });

  it("gives up after retainMs", async () => {
    const { once, store } = world.process({ retainMs: 20_000 });
    store.always("complete", refused());
    void once.run(name, () => "paid");
    await world.pass(30_000);
    const attempts = () => store.calls.filter((call) => call === "complete").length;
    const before = attempts();
    await world.pass(60_000);
    expect(attempts()).toBe(before);
    store.always("complete", undefined);
    expect((await once.run(name, () => "again")).replayed).toBe(false);
  });

  it("repeats a complete whose reply was lost, and finds its own outcome", async () => {
    const { once, store, heard } = world.process();
    store.next("complete", replyLost);
    const call = follow(once.run(name, () => "paid"));
    await world.pass(25);
    expect(call.value).toEqual({ value: "paid", replayed: false });
    expect(heard()).toEqual(["claimed", "store-error", "completed"]);
  });

  it("complete false after an unanswered attempt: our own result, and no rerun", async () => {
    const { once, store, heard } = world.process();
    store.next("complete", replyLost);
    const calls = [1, 2].map(() => follow(once.run(name, () => "paid")));
    await world.settle();
    await once.remove(name);
    await world.pass(25);
    expect(calls.map(({ value }) => value?.value)).toEqual(["paid", "paid"]);
    expect(heard().filter((type) => type === "claimed")).toHaveLength(1);
  });

  it("complete false after an unanswered attempt that was followed by a refusal: no rerun either", async () => {
    const { once, store, heard } = world.process();
    store.next("complete", replyLost, refused(new StoreRejectedError("too long")));
    const calls = [1, 2].map(() => follow(once.run(name, () => "paid")));
    await world.settle();
    await once.remove(name);
    await world.pass(25);
    expect(calls.map(({ value }) => value?.value)).toEqual(["paid", "paid"]);
    expect(heard().filter((type) => type === "claimed")).toHaveLength(1);
  });
});

describe("the store is unreachable at release", () => {
  it("tells the caller what the work threw, and releases when the store is back", async () => {
    const { once, store, heard } = world.process();
    store.always("release", refused());
    const work = controlledWork();
    const call = follow(once.run(name, work));
    const joiner = follow(once.run({ ...name, waitMs: 3_000 }, work));
    await world.settle();
    work.runs[0]?.fail(new Error("declined"));
    await world.pass(1_000);
    expect(call.error?.message).toBe("declined");
    expect(joiner.state).toBe("pending");
    store.always("release", undefined);
    await world.pass(1_000);
    expect(heard()).toContain("released");
    expect(work.runs).toHaveLength(2);
    work.runs[1]?.end("paid");
    await world.settle();
    expect(joiner.value?.value).toBe("paid");
  });

  it("asks no more when the store refuses for good, or for longer than retainMs", async () => {
    const { once, store } = world.process({ retainMs: 20_000 });
    const declined = () => Promise.reject(new Error("declined"));
    store.next("release", refused(new StoreRejectedError("read only")));
    await expect(once.run(name, declined)).rejects.toThrow("declined");
    expect(store.calls).toEqual(["claim", "release"]);
    store.always("release", refused());
    void follow(once.run({ ...name, key: "another" }, declined));
    await world.pass(30_000);
    const releases = () => store.calls.filter((call) => call === "release").length;
    const before = releases();
    await world.pass(60_000);
    expect(releases()).toBe(before);
  });

  it("takes a release whose reply was lost for done", async () => {
    const { once, store, heard } = world.process();
    store.next("release", replyLost);
    const call = follow(once.run(name, () => Promise.reject(new Error("declined"))));
    await world.pass(25);
    expect(call.error?.message).toBe("declined");
    expect(heard()).toEqual(["claimed", "store-error", "released"]);
  });
});
