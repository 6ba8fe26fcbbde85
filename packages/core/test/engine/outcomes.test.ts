import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Codec, StoreRejectedError } from "../../src/index.ts";
import { refused, replyLost } from "./faulty-store.ts";
import { controlledWork, createWorld, follow, type World } from "./world.ts";

const name = { operation: "pay", key: "a-key-of-twelve" };
let world: World;
beforeEach(() => {
  world = createWorld();
});
afterEach(() => void vi.useRealTimers());
const codedBadly = (part: "encode" | "decode"): Codec => ({
  hmacSecret: new Uint8Array(32),
  encode: (plain) => (part === "encode" ? Promise.reject(new Error("no key")) : plain),
  decode: (coded) => (part === "decode" ? Promise.reject(new Error("no key")) : coded),
});

describe("the work throws", () => {
  it("releases, and the next attempt runs", async () => {
    const { once, heard, events } = world.process();
    await expect(once.run(name, () => Promise.reject(new Error("declined")))).rejects.toThrow("declined");
    expect(events.at(-1)).toMatchObject({ type: "released", reason: "failed" });
    expect(world.backend.records.size).toBe(0);
    expect(await once.run(name, () => "paid")).toEqual({ value: "paid", replayed: false });
    expect(heard()).toEqual(["claimed", "released", "claimed", "completed"]);
  });

  it("keeps what was thrown with keepErrors", async () => {
    const { once } = world.process({ keepErrors: true });
    const declined = Object.assign(new RangeError("declined"), { code: "E_DECLINED" });
    await expect(once.run(name, () => Promise.reject(declined))).rejects.toBe(declined);
    const replay = once.run(name, () => "paid");
    await expect(replay).rejects.toMatchObject({
      code: "ERR_RECORDED_FAILURE",
      original: { name: "RangeError", message: "declined", code: "E_DECLINED" },
    });
  });

  it.each([
    [Object.assign(new Error("declined"), { code: 402 }), { name: "Error", message: "declined", code: 402 }],
    [Object.assign(new Error("declined"), { code: {} }), { name: "Error", message: "declined" }],
    ["declined", { name: "Error", message: "declined" }],
  ])("keeps of an error what can be kept: %o", async (thrown, original) => {
    const { once } = world.process({ keepErrors: true });
    const call = () => once.run(name, () => Promise.reject(thrown));
    await expect(call()).rejects.toBe(thrown);
    const replayed = follow(call());
    await world.settle();
    expect((replayed.error as { original?: unknown }).original).toEqual(original);
  });

  it("keepErrors may choose", async () => {
    const { once } = world.process({ keepErrors: (error) => (error as Error).message === "for good" });
    const throwing = (message: string) => follow(once.run(name, () => Promise.reject(new Error(message)))).promise;
    await expect(throwing("for now")).rejects.toThrow("for now");
    await expect(throwing("for good")).rejects.toThrow("for good");
    await expect(throwing("no more")).rejects.toMatchObject({ code: "ERR_RECORDED_FAILURE", message: "for good" });
  });

  it("ends the claim also when keepErrors throws, or what was thrown can't be described", async () => {
    const bug = new Error("a bug");
    const { once } = world.process();
    const throws = () => {
      throw bug;
    };
    await expect(once.run({ ...name, keepErrors: throws }, () => Promise.reject(1))).rejects.toBe(bug);
    const nameless = Object.create(null) as unknown;
    await expect(once.run({ ...name, keepErrors: true }, () => Promise.reject(nameless))).rejects.toThrow();
    expect(world.backend.records.size).toBe(0);
  });
});

describe("an outcome that is not to be kept", () => {
  it("releases, and answers with it", async () => {
    const { once, events } = world.process();
    const pending = { ...name, keep: (value: string) => value !== "pending" };
    expect(await once.run(pending, () => "pending")).toEqual({ value: "pending", replayed: false });
    expect(events.at(-1)).toMatchObject({ type: "released", reason: "not-kept" });
    expect(await once.run(pending, () => "paid")).toEqual({ value: "paid", replayed: false });
    expect(await once.run(pending, () => "again")).toEqual({ value: "paid", replayed: true });
  });

  it("counts as thrown when keep throws", async () => {
    const { once, events } = world.process();
    const bug = new Error("a bug");
    const keep = () => {
      throw bug;
    };
    await expect(once.run({ ...name, keep }, () => "paid")).rejects.toBe(bug);
    expect(events.at(-1)).toMatchObject({ type: "released", reason: "failed" });
  });
});

describe("an outcome that can't be kept leaves a marker: nothing runs twice", () => {
  it("is too large", async () => {
    const { once, events } = world.process({ maxOutcomeBytes: 10 });
    const work = controlledWork();
    const calls = [1, 2].map(() => follow(once.run(name, work)));
    await world.settle();
    work.runs[0]?.end("far too long");
    await world.settle();
    expect(calls[0]?.value).toEqual({ value: "far too long", replayed: false });
    expect(calls[1]?.error).toMatchObject({ code: "ERR_OUTCOME_NOT_KEPT", retryable: false });
    await expect(once.run(name, work)).rejects.toMatchObject({ code: "ERR_OUTCOME_NOT_KEPT" });
    expect(work.runs).toHaveLength(1);
    expect(events.find(({ type }) => type === "oversize")).toMatchObject({ bytes: 14, limit: 10, reason: "too-large" });
  });

  it("is 1 MiB by default, and not a byte less", async () => {
    const { once } = world.process();
    const text = "x".repeat(1_048_576 - 2);
    for (const value of [text, `${text}x`]) await once.run({ ...name, scope: String(value.length) }, () => value);
    expect((await once.run({ ...name, scope: String(text.length) }, () => "again")).value).toBe(text);
    await expect(once.run({ ...name, scope: String(text.length + 1) }, () => "again")).rejects.toThrow(
      "maxOutcomeBytes",
    );
  });

  it("can't be encoded, which is the reason given whatever the limit", async () => {
    const { once, events } = world.process({ maxOutcomeBytes: 0 });
    await expect(once.run(name, () => ({ when: () => {} }))).rejects.toMatchObject({
      code: "ERR_OUTCOME_NOT_ENCODABLE",
    });
    expect(events.filter(({ type }) => type === "oversize")).toEqual([]);
    await expect(once.run(name, () => 1)).rejects.toMatchObject({ code: "ERR_OUTCOME_NOT_KEPT" });
  });

  it("can't be encoded by the codec", async () => {
    const { once, events } = world.process({ codec: codedBadly("encode") });
    expect(await once.run(name, () => "paid")).toEqual({ value: "paid", replayed: false });
    expect(events.find(({ type }) => type === "oversize")).toMatchObject({ reason: "not-encodable" });
    await expect(once.run(name, () => "again")).rejects.toThrow("can't be stored");
  });

  it("is rejected by the store", async () => {
    const { once, store, heard } = world.process();
    store.next("complete", refused(new StoreRejectedError("value too long for a row")));
    expect(await once.run(name, () => "paid")).toEqual({ value: "paid", replayed: false });
    expect(heard()).toEqual(["claimed", "store-error", "oversize", "completed"]);
    await expect(once.run(name, () => "again")).rejects.toThrow("the store rejected it");
  });

  it("is rejected by the store, which then goes away for a moment", async () => {
    const { once, store } = world.process();
    store.next("complete", refused(new StoreRejectedError("too long")), refused());
    const call = follow(once.run(name, () => "paid"));
    await world.pass(25);
    expect(call.value).toEqual({ value: "paid", replayed: false });
    await expect(once.run(name, () => "again")).rejects.toMatchObject({ code: "ERR_OUTCOME_NOT_KEPT" });
  });

  it("is rejected together with its marker: the result is true all the same", async () => {
    const { once, store } = world.process();
    store.always("complete", refused(new StoreRejectedError("read only")));
    expect(await once.run(name, () => "paid")).toEqual({ value: "paid", replayed: false });
    expect(store.calls).toEqual(["claim", "complete", "complete"]);
  });

  it("is rejected, and the record is another's by then", async () => {
    const { once, store } = world.process();
    store.next("complete", async () => {
      await once.remove(name);
      throw new StoreRejectedError("too long");
    });
    expect(await once.run(name, () => "paid")).toEqual({ value: "paid", replayed: false });
  });
});

it("a record that can't be read is an error, for joiners too, and runs nothing", async () => {
  const [writer, reader] = [
    world.process({ codec: codedBadly("decode") }),
    world.process({ codec: codedBadly("decode") }),
  ];
  await writer.once.run(name, () => "paid");
  const calls = [1, 2].map(() => reader.once.run(name, () => "again"));
  for (const call of calls) await expect(call).rejects.toThrow("no key");
  expect(reader.store.calls).toEqual(["claim"]);
});

it("run does not replay an HTTP response that has its id", async () => {
  const { once } = world.process();
  await once.run(name, () => "paid");
  const { id, fingerprint } = (await once.find(name)) ?? expect.fail();
  await once.remove(name);
  const { engine } = once;
  const operation = { ...name, id, scope: undefined, fingerprint };
  const entry = await engine.enter(operation, engine.options.policy);
  if (entry.kind !== "run") return expect.fail();
  await entry.execution.complete({ kind: "http", payload: new Uint8Array() });
  await expect(once.run(name, () => "again")).rejects.toMatchObject({ code: "ERR_KEY_INVALID" });
});

it("gives first callers and replays the same decoded value", async () => {
  const { once } = world.process();
  const original = { cents: 1n, ids: new Set([1]) };
  const first = await once.run(name, () => original);
  const second = await once.run(name, () => original);
  expect(first.value).not.toBe(original);
  expect(first.value).toEqual(original);
  expect(second.value).toEqual(original);
});

it("the TTL starts at complete", async () => {
  const { once, store } = world.process({ ttlMs: 60_000 });
  store.next("complete", replyLost);
  const work = controlledWork();
  const call = once.run(name, work);
  await world.pass(50_000);
  work.runs[0]?.end("paid");
  await world.pass(59_999);
  await call;
  expect((await once.run(name, () => "again")).replayed).toBe(true);
  await world.pass(1);
  expect((await once.run(name, () => "again")).replayed).toBe(false);
});
