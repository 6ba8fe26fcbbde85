import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { RunRequest } from "../../src/index.ts";
import { refused } from "./faulty-store.ts";
import { controlledWork, createWorld, follow, type Work, type World } from "./world.ts";

type Run = Work<string>["runs"][number];

const name = { operation: "pay", key: "a-key-of-twelve" };
let world: World;
beforeEach(() => {
  world = createWorld();
});
afterEach(() => void vi.useRealTimers());

/** A process that claimed and died, whose lease is over. */
async function afterCrash(): Promise<void> {
  const { once, crash } = world.process();
  void follow(once.run(name, controlledWork()));
  await world.settle();
  crash();
  await world.pass(10_000);
}

describe("a runner died", () => {
  it("the next attempt takes over and is told so", async () => {
    await afterCrash();
    const { once, events } = world.process();
    expect(await once.run(name, ({ attempt }) => attempt)).toEqual({ value: 2, replayed: false });
    expect(events).toMatchObject([{ type: "claimed", attempt: 2 }, { type: "abandoned", attempt: 2 }, {}]);
  });

  it("takeover: false rejects as outcome unknown, until somebody removes the record", async () => {
    await afterCrash();
    const { once, heard } = world.process({ takeover: false });
    const work = vi.fn(() => "paid");
    await expect(once.run(name, work)).rejects.toMatchObject({ code: "ERR_OUTCOME_UNKNOWN", retryable: false });
    expect(work).not.toHaveBeenCalled();
    expect(heard()).toEqual(["outcome-unknown"]);
    expect(await once.find(name)).toMatchObject({ state: "abandoned", attempt: 1 });
    await once.remove(name);
    expect((await once.run(name, work)).value).toBe("paid");
  });

  it("takeover: false rejects those who waited when the lease is over", async () => {
    const [runner, waiter] = [world.process(), world.process({ takeover: false })];
    void runner.once.run(name, controlledWork());
    await world.settle();
    runner.crash();
    const calls = [1, 2].map(() => follow(waiter.once.run(name, controlledWork())));
    await world.pass(10_001);
    expect(calls.map(({ error }) => error?.code)).toEqual(["ERR_OUTCOME_UNKNOWN", "ERR_OUTCOME_UNKNOWN"]);
  });

  it("reconcile supplies the outcome, and the work does not run", async () => {
    await afterCrash();
    const { once } = world.process();
    const work = vi.fn(() => "again");
    const reconcile = vi.fn(async () => ({ value: "paid before" }));
    expect(await once.run({ ...name, reconcile }, work)).toEqual({ value: "paid before", replayed: false });
    expect(work).not.toHaveBeenCalled();
    expect(reconcile).toHaveBeenCalledWith(expect.objectContaining({ attempt: 2 }));
    expect((await once.run(name, work)).value).toBe("paid before");
  });

  it("reconcile that finds nothing lets the work run", async () => {
    await afterCrash();
    const { once } = world.process();
    expect((await once.run({ ...name, reconcile: async () => undefined }, () => "paid")).value).toBe("paid");
  });

  it("reconcile is not asked when nobody died", async () => {
    const { once } = world.process();
    const reconcile = vi.fn(async () => undefined);
    await expect(once.run({ ...name, reconcile }, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    await once.run({ ...name, reconcile }, ({ step }) => step("one", () => 1));
    expect(reconcile).not.toHaveBeenCalled();
  });

  it("reconcile that throws leaves the record abandoned: the next attempt reconciles too, and at once", async () => {
    await afterCrash();
    const { once } = world.process();
    const work = vi.fn(() => "again");
    const down = new Error("the bank is down");
    const failing = follow(once.run({ ...name, reconcile: () => Promise.reject(down) }, work));
    await world.settle();
    expect(failing.error).toBe(down);
    await world.pass(1);
    expect(await once.find(name)).toMatchObject({ state: "abandoned", attempt: 2 });
    const reconcile = async () => ({ value: "paid before" });
    expect((await once.run({ ...name, reconcile }, work)).value).toBe("paid before");
    expect(work).not.toHaveBeenCalled();
  });

  it("reconcile that throws leaves the record abandoned also with the store down", async () => {
    await afterCrash();
    const { once, store, events } = world.process();
    store.next("renew", refused());
    const down = new Error("the bank is down");
    await expect(once.run({ ...name, reconcile: () => Promise.reject(down) }, () => 1)).rejects.toBe(down);
    expect(events.at(-1)).toMatchObject({ type: "store-error", call: "renew" });
    await expect(once.run({ ...name, takeover: false, waitMs: 0 }, () => 1)).rejects.toMatchObject({
      code: "ERR_IN_PROGRESS",
    });
    await world.pass(10_000);
    await expect(once.run({ ...name, takeover: false }, () => 1)).rejects.toMatchObject({
      code: "ERR_OUTCOME_UNKNOWN",
    });
  });

  it("an unconfirmed execution can be abandoned too", async () => {
    const { once, store } = world.process({ failOpen: true });
    store.next("claim", refused());
    const { engine } = once;
    const id = { id: "an-id", operation: "pay", scope: undefined, key: "k", fingerprint: "f" };
    const entry = await engine.enter(id, engine.options.policy);
    if (entry.kind !== "run") return expect.fail();
    await entry.execution.abandon();
    expect(store.calls).toEqual(["claim"]);
  });
});

describe("a lease is lost while the work runs", () => {
  /** A runner whose renewals fail, and whose record another has taken over. */
  async function superseded(request: Partial<RunRequest<string>> = {}) {
    const [stale, winner] = [world.process(), world.process()];
    const work = controlledWork();
    const call = follow(stale.once.run({ ...name, ...request }, work));
    await world.settle();
    stale.store.always("renew", refused());
    await world.pass(10_000);
    const takeover = follow(winner.once.run(name, work));
    await world.settle();
    const [first, second] = work.runs;
    if (!first || !second) return expect.fail();
    return { stale, winner, work, first, second, call, takeover };
  }

  it("aborts the signal before another can have taken over", async () => {
    const { stale, first, second } = await superseded();
    expect(first.context.signal.reason).toMatchObject({ code: "ERR_LEASE_LOST", reason: "expired" });
    expect(stale.events).toContainEqual(expect.objectContaining({ type: "lease-lost", reason: "expired" }));
    expect(second.context.fence).toBeGreaterThan(first.context.fence);
    expect(second.context.signal.aborted).toBe(false);
  });

  it("answers with the winner's outcome", async () => {
    const { stale, first, second, call, takeover } = await superseded();
    second.end("winner");
    await world.settle();
    first.end("stale");
    await world.settle();
    expect(takeover.value).toEqual({ value: "winner", replayed: false });
    expect(call.value).toEqual({ value: "winner", replayed: true });
    expect(stale.heard()).not.toContain("completed");
  });

  it("answers with its own result while the winner runs", async () => {
    const { first, second, call, takeover } = await superseded();
    first.end("stale");
    await world.settle();
    expect(call.value).toEqual({ value: "stale", replayed: false });
    second.end("winner");
    await world.settle();
    expect(takeover.value).toEqual({ value: "winner", replayed: false });
  });

  it.each<{ how: string; request: Partial<RunRequest<string>>; end: (run: Run) => void }>([
    { how: "threw", request: {}, end: ({ fail }) => fail(new Error("lost")) },
    { how: "threw, and errors are kept", request: { keepErrors: true }, end: ({ fail }) => fail(new Error("lost")) },
    { how: "gave what is not kept", request: { keep: () => false }, end: ({ end }) => end("stale") },
    { how: "gave what can't be encoded", request: {}, end: ({ end }) => end((() => {}) as never) },
  ])("answers with the winner's outcome though the work $how", async ({ request, end }) => {
    const { first, second, call } = await superseded(request);
    second.end("winner");
    await world.settle();
    end(first);
    await world.settle();
    expect(call.value).toEqual({ value: "winner", replayed: true });
  });

  it("says so when the winner's outcome could not be kept", async () => {
    const { first, second, call } = await superseded();
    second.end("x".repeat(1_048_577));
    await world.settle();
    first.end("stale");
    await world.settle();
    expect(call.error?.code).toBe("ERR_OUTCOME_NOT_KEPT");
  });

  it("throws what the work threw while the winner runs, and takes nothing from it", async () => {
    const { winner, first, call } = await superseded();
    first.fail(new Error("lost"));
    await world.settle();
    expect(call.error?.message).toBe("lost");
    expect(await winner.once.find(name)).toMatchObject({ state: "running", attempt: 2 });
  });

  it("answers with its own result when the winner's can't be read", async () => {
    const { stale, first, second, call } = await superseded();
    stale.store.next("find", refused());
    second.end("winner");
    await world.settle();
    first.end("stale");
    await world.settle();
    expect(call.value).toEqual({ value: "stale", replayed: false });
    expect(stale.events).toContainEqual(expect.objectContaining({ type: "store-error", call: "find" }));
  });

  it("does not answer with the outcome of another payload", async () => {
    const { winner, first, call } = await superseded();
    await winner.once.remove(name);
    await world.process().once.run({ ...name, payload: "other" }, () => "other");
    first.end("stale");
    await world.settle();
    expect(call.value).toEqual({ value: "stale", replayed: false });
  });

  it("completes all the same when nobody took over", async () => {
    const { once, store, heard } = world.process();
    store.always("renew", refused());
    const work = controlledWork();
    const call = follow(once.run(name, work));
    await world.pass(30_000);
    expect(work.runs[0]?.context.signal.aborted).toBe(true);
    work.runs[0]?.end("paid");
    await world.settle();
    expect(call.value).toEqual({ value: "paid", replayed: false });
    expect(heard().slice(-1)).toEqual(["completed"]);
    expect((await once.run(name, () => "again")).replayed).toBe(true);
  });

  it("those who joined claim again, and do not hang on work that never ends", async () => {
    const [stale, winner] = [world.process(), world.process()];
    const work = controlledWork();
    const call = follow(stale.once.run(name, work));
    await world.settle();
    const joiners = [1, 2].map(() => follow(stale.once.run(name, work)));
    await world.settle();
    stale.store.next("renew", refused(), refused(), refused());
    await world.pass(10_000);
    // One of them is the new runner, the other joined that.
    expect(work.runs).toHaveLength(2);
    work.runs[1]?.end("again");
    await world.settle();
    expect(joiners.map(({ value }) => value)).toEqual([
      { value: "again", replayed: false },
      { value: "again", replayed: true },
    ]);
    expect((await winner.once.run(name, work)).value).toBe("again");
    work.runs[0]?.end("stale");
    await world.settle();
    expect(call.value).toEqual({ value: "again", replayed: true });
  });

  it("work that hangs wedges its key no longer than maxRunMs and the lease", async () => {
    const { once } = world.process({ maxRunMs: 60_000 });
    void follow(once.run(name, controlledWork()));
    await world.pass(60_000);
    const next = follow(once.run(name, ({ attempt }) => attempt));
    await world.pass(10_001);
    expect(next.value).toEqual({ value: 2, replayed: false });
  });
});
