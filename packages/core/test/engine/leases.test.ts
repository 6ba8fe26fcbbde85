import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { held, refused } from "./faulty-store.ts";
import { controlledWork, createWorld, follow, type World } from "./world.ts";

const name = { operation: "pay", key: "a-key-of-twelve" };
let world: World;
beforeEach(() => {
  world = createWorld();
});
afterEach(() => void vi.useRealTimers());

it("renews the lease at a third of its length for as long as the work runs, and no longer", async () => {
  const [runner, other] = [world.process(), world.process({ waitMs: 0 })];
  const work = controlledWork();
  const call = runner.once.run(name, work);
  await world.settle();
  for (let minute = 0; minute < 5; minute++) {
    await world.pass(60_000);
    await expect(other.once.run(name, work)).rejects.toMatchObject({ code: "ERR_IN_PROGRESS" });
  }
  const renewals = runner.heard().filter((type) => type === "lease-renewed");
  expect(renewals.length).toBeGreaterThanOrEqual(89);
  expect(renewals.length).toBeLessThanOrEqual(90);
  expect(work.runs[0]?.context.signal.aborted).toBe(false);
  work.runs[0]?.end("paid");
  await call;
  const { length } = runner.events;
  await world.pass(50_000);
  expect(runner.events).toHaveLength(length);
});

it("loses the lease when leaseMs have passed since the last renewal was sent, not answered", async () => {
  const { once, store, events } = world.process({ leaseMs: 9_000 });
  const work = controlledWork();
  const claim = held();
  store.next("claim", claim.fault);
  const renewal = held();
  store.next("renew", renewal.fault);
  void once.run(name, work);
  await world.pass(2_000);
  claim.answer();
  await world.settle();
  const { signal } = work.runs[0]?.context ?? expect.fail();
  // The claim was sent at 0 and answered at 2,000; the first renewal is sent at 5,000 and not answered before 11,000.
  await world.pass(6_999);
  expect(signal.aborted).toBe(false);
  await world.pass(1);
  expect(signal.reason).toMatchObject({ code: "ERR_LEASE_LOST", reason: "expired" });
  await world.pass(2_000);
  renewal.answer();
  await world.settle();
  expect(events.map(({ type }) => type)).toEqual(["claimed", "lease-lost", "lease-renewed"]);
});

it("counts a renewed lease from when the renewal was sent, however late its answer", async () => {
  const { once, store } = world.process({ leaseMs: 9_000 });
  const work = controlledWork();
  const renewal = held();
  store.next("renew", renewal.fault);
  void once.run(name, work);
  await world.settle();
  const { signal } = work.runs[0]?.context ?? expect.fail();
  await world.pass(3_000);
  renewal.arrive();
  await world.pass(5_000);
  store.always("renew", refused());
  renewal.answer();
  // Sent at 3,000, answered at 8,000: over at 12,000.
  await world.pass(3_999);
  expect(signal.aborted).toBe(false);
  await world.pass(1);
  expect(signal.aborted).toBe(true);
});

describe("a claim that is answered after its lease", () => {
  /** A caller whose claims are answered late, and how it went on. */
  async function lateClaims(...claims: ReturnType<typeof held>[]) {
    const here = world.process();
    here.store.next("claim", ...claims.map(({ fault }) => fault));
    const work = controlledWork();
    const call = follow(here.once.run(name, work));
    for (const claim of claims) {
      claim.arrive();
      await world.pass(10_000);
      claim.answer();
      await world.settle();
    }
    return { ...here, work, call };
  }

  it("is asked for again, and runs when it still stands", async () => {
    const { store, heard, work } = await lateClaims(held());
    expect(store.calls).toEqual(["claim", "claim"]);
    expect(work.runs[0]?.context).toMatchObject({ attempt: 1, signal: { aborted: false } });
    expect(heard()).toEqual(["claimed"]);
    // The lease counts from the second claim.
    store.always("renew", refused());
    await world.pass(9_999);
    expect(heard()).not.toContain("lease-lost");
    await world.pass(1);
    expect(heard()).toContain("lease-lost");
  });

  it("does not run beside the one who took over meanwhile", async () => {
    const [here, there, claim] = [world.process(), world.process(), held()];
    const [work, other] = [controlledWork(), controlledWork()];
    here.store.next("claim", claim.fault);
    const call = follow(here.once.run(name, work));
    claim.arrive();
    await world.settle();
    const takeover = follow(there.once.run(name, other));
    await world.pass(10_001);
    claim.answer();
    await world.settle();
    expect([work.runs.length, other.runs.length]).toEqual([0, 1]);
    other.runs[0]?.end("theirs");
    await world.settle();
    expect(takeover.value).toEqual({ value: "theirs", replayed: false });
    expect(call.value).toEqual({ value: "theirs", replayed: true });
  });

  it("twice, starts with its signal aborted", async () => {
    const { work, heard } = await lateClaims(held(), held());
    expect(work.runs[0]?.context.signal.reason).toMatchObject({ code: "ERR_LEASE_LOST", reason: "expired" });
    expect(heard()).toEqual(["claimed", "lease-lost"]);
  });
});

it("loses the lease when renew says that another has the record", async () => {
  const { once, heard, store } = world.process();
  const work = controlledWork();
  void follow(once.run(name, work));
  await world.settle();
  await once.remove(name);
  await world.pass(3_334);
  // Asked for after the loss, the signal tells of it all the same.
  expect(work.runs[0]?.context.signal.reason).toMatchObject({ reason: "superseded" });
  expect(heard()).toEqual(["claimed", "lease-lost"]);
  await world.pass(30_000);
  expect(store.calls.filter((call) => call === "renew")).toHaveLength(1);
});

it("still renews a lease that ran out here, so that nobody starts beside it", async () => {
  const { once, store, heard } = world.process();
  const work = controlledWork();
  void once.run(name, work);
  await world.settle();
  store.next("renew", refused(), refused(), refused());
  await world.pass(15_000);
  expect(heard()).toContain("lease-lost");
  expect(heard().filter((type) => type === "lease-lost")).toHaveLength(1);
  expect(heard()).toContain("lease-renewed");
  expect(await once.find(name)).toMatchObject({ state: "running" });
});

it("renews for maxRunMs at most", async () => {
  const { once, events } = world.process({ maxRunMs: 25_000 });
  const work = controlledWork();
  const call = follow(once.run(name, work));
  await world.settle();
  const { signal } = work.runs[0]?.context ?? expect.fail();
  await world.pass(24_999);
  expect(signal.aborted).toBe(false);
  await world.pass(1);
  expect(signal.reason).toMatchObject({ reason: "max-run" });
  expect(events.at(-1)).toMatchObject({ type: "lease-lost", reason: "max-run" });
  await world.pass(10_000);
  expect(await once.find(name)).toMatchObject({ state: "abandoned" });
  work.runs[0]?.end("paid");
  await world.settle();
  expect(call.value?.value).toBe("paid");
});

it("does not hear of a renewal that was under way when maxRunMs had passed", async () => {
  const { once, store, heard } = world.process({ maxRunMs: 4_000 });
  const renewal = held();
  store.next("renew", renewal.fault);
  void once.run(name, controlledWork());
  await world.pass(4_000);
  renewal.answer();
  await world.settle();
  expect(heard()).toEqual(["claimed", "lease-lost"]);
});

it("renews for 15 minutes by default", async () => {
  const { once, heard } = world.process();
  void once.run(name, controlledWork());
  await world.pass(15 * 60_000 - 10);
  expect(heard()).not.toContain("lease-lost");
  await world.pass(10);
  expect(heard()).toContain("lease-lost");
});

it.each(["answered", "failed"])("ignores a renewal that is %s after complete began", async (reply) => {
  const { once, store, heard } = world.process();
  const renewal = held();
  store.next("renew", (send) => renewal.fault(reply === "failed" ? () => refused()(send) : send));
  const work = controlledWork();
  const call = once.run(name, work);
  await world.pass(4_000);
  work.runs[0]?.end("paid");
  await call;
  renewal.answer();
  await world.settle();
  expect(heard()).toEqual(["claimed", "completed"]);
});
