import { memoryStore } from "@onceward/store-memory";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type ClaimRequest,
  onceward,
  type Store,
  type StoreEvent,
  StoreRejectedError,
  StoreUnavailableError,
  withCircuitBreaker,
} from "../src/index.ts";

const request = (token: string): ClaimRequest => ({
  token,
  fingerprint: "f",
  leaseMs: 60_000,
  retainMs: 60_000,
  takeover: true,
});

/** A real store behind a switch, which counts what reaches it. */
function switchable() {
  const store = memoryStore();
  const control = {
    failure: undefined as Error | undefined,
    reached: [] as string[],
    hold: undefined as Promise<void> | undefined,
  };
  const through =
    <Args extends unknown[], Result>(name: string, call: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      control.reached.push(name);
      await control.hold;
      if (control.failure) throw control.failure;
      return call(...args);
    };
  const guarded: Store = {
    ...store,
    claim: through("claim", store.claim),
    find: through("find", store.find),
    complete: through("complete", store.complete),
    release: through("release", store.release),
    renew: through("renew", store.renew),
    saveStep: through("saveStep", store.saveStep),
    remove: through("remove", store.remove),
    ping: through("ping", store.ping),
    list: async function* (filter) {
      await through("list", async () => {})();
      yield* store.list!(filter);
    },
  };
  return { guarded, control, store };
}

const down = new StoreUnavailableError("down");

describe("withCircuitBreaker", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function opened() {
    const parts = switchable();
    const events: StoreEvent[] = [];
    const breaker = withCircuitBreaker(parts.guarded, { failures: 3, openMs: 1_000 });
    const unsubscribe = breaker.onEvent!((event) => events.push(event));
    const fail = async (times: number) => {
      parts.control.failure = down;
      for (let index = 0; index < times; index++) await expect(breaker.find("x")).rejects.toBe(down);
    };
    return { ...parts, breaker, events, unsubscribe, fail };
  }

  it("opens after failures in a row, and then sends no claim, find or list", async () => {
    const { breaker, control, events, fail } = opened();
    await fail(3);
    control.reached = [];
    for (const call of [
      () => breaker.claim("x", request("t")),
      () => breaker.find("x"),
      () => breaker.list!()[Symbol.asyncIterator]().next(),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: "ERR_STORE_UNAVAILABLE", retryAfterMs: 1_000 });
    }
    expect(control.reached).toEqual([]);
    expect(events).toEqual([{ type: "circuit", state: "open", failures: 3 }]);
  });

  it("counts failures in a row only: an answer between them starts the count anew", async () => {
    const { breaker, control, events, fail } = opened();
    await fail(2);
    control.failure = new StoreRejectedError("an answer, if not a friendly one");
    await expect(breaker.find("x")).rejects.toThrow("friendly");
    await fail(2);
    control.failure = undefined;
    await expect(breaker.find("x")).resolves.toBeNull();
    expect(events).toEqual([]);
  });

  it("lets one probe at a time through once the time is over; its success closes", async () => {
    const { breaker, control, events, fail } = opened();
    await fail(3);
    vi.advanceTimersByTime(1_000);
    control.failure = undefined;
    let letGo = () => {};
    control.hold = new Promise((resolve) => {
      letGo = resolve;
    });
    control.reached = [];
    const probe = breaker.claim("x", request("t"));
    await expect(breaker.claim("y", request("t2"))).rejects.toMatchObject({ code: "ERR_STORE_UNAVAILABLE" });
    expect(control.reached).toEqual(["claim"]);
    letGo();
    await expect(probe).resolves.toMatchObject({ state: "claimed" });
    await expect(breaker.find("x")).resolves.toMatchObject({ state: "running" });
    expect(events.map((event) => event.type === "circuit" && event.state)).toEqual(["open", "half-open", "closed"]);
  });

  it("opens again when the probe fails", async () => {
    const { breaker, control, events, fail } = opened();
    await fail(3);
    vi.advanceTimersByTime(1_000);
    await expect(breaker.find("x")).rejects.toBe(down);
    control.reached = [];
    vi.advanceTimersByTime(999);
    await expect(breaker.find("x")).rejects.toMatchObject({ code: "ERR_STORE_UNAVAILABLE" });
    expect(control.reached).toEqual([]);
    expect(events.map((event) => event.type === "circuit" && event.state)).toEqual(["open", "half-open", "open"]);
  });

  it("always passes what ends running work; its failures don't put the probe off, its success closes", async () => {
    const { breaker, control, fail } = opened();
    await breaker.claim("x", request("t"));
    await fail(3);
    vi.advanceTimersByTime(900);
    await expect(breaker.renew("x", "t", 1)).rejects.toBe(down);
    await expect(breaker.saveStep("x", "t", "s", new Uint8Array())).rejects.toBe(down);
    await expect(breaker.release("x", "t")).rejects.toBe(down);
    vi.advanceTimersByTime(100);
    control.failure = undefined;
    await expect(breaker.find("x")).resolves.not.toBeNull();

    await fail(3);
    control.failure = undefined;
    await expect(breaker.complete("x", "t", Uint8Array.of(1), 60_000)).resolves.toBe(true);
    await expect(breaker.find("x")).resolves.toMatchObject({ state: "completed" });
    await breaker.ping();
    await expect(breaker.remove("x")).resolves.toBe(true);
  });

  it("keeps the store's capabilities, lists through, and unsubscribes", async () => {
    const { breaker, store, events, unsubscribe, fail } = opened();
    await store.claim("x", request("t"));
    const listed = [];
    for await (const record of breaker.list!()) listed.push(record.id);
    expect(listed).toEqual(["x"]);
    await breaker.watch!("absent", 1, new AbortController().signal);
    expect(await breaker.sweep!(10)).toBe(0);
    unsubscribe();
    await fail(3);
    expect(events).toEqual([]);
    const { list: _list, watch: _watch, sweep: _sweep, ...bare } = store;
    expect(Object.keys(withCircuitBreaker(bare))).not.toEqual(expect.arrayContaining(["list", "watch", "sweep"]));
    await breaker.close();
    await expect(store.ping()).rejects.toMatchObject({ code: "ERR_STORE_CLOSED" });
  });

  it("hands the store's own events on, and its own to the engine", async () => {
    const { guarded, control } = switchable();
    let own: (event: StoreEvent) => void = () => {};
    guarded.onEvent = (listener) => {
      own = listener;
      return () => {};
    };
    const once = onceward({ store: withCircuitBreaker(guarded, { failures: 1 }) });
    const seen: string[] = [];
    once.on("*", (event) => seen.push(event.type));
    own({ type: "store-warning", code: "c", message: "m" });
    control.failure = down;
    await expect(once.run({ operation: "o", key: "k" }, () => 1)).rejects.toMatchObject({
      code: "ERR_STORE_UNAVAILABLE",
    });
    expect(seen).toEqual(["store-warning", "circuit", "store-error"]);
    await once.close();
  });

  it("refuses options that can't work", () => {
    expect(() => withCircuitBreaker(memoryStore(), { failures: 0 })).toThrow("failures must be");
    expect(() => withCircuitBreaker(memoryStore(), { openMs: -1 })).toThrow("openMs must be");
  });
});
