import { memoryStore } from "@onceward/store-memory";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Onceward, onceward, RecordedFailureError } from "../src/index.ts";

let once: Onceward;
beforeEach(() => {
  once = onceward({ store: memoryStore() });
});
afterEach(() => once.close());

const isRunning = async (key: string) => (await once.find({ operation: "o", key }))?.state === "running";

it("a fingerprint of the caller's own may be any text: stores get a word that they can hold", async () => {
  const name = { operation: "o", key: "own-fingerprint" };
  await once.run({ ...name, fingerprint: "+ 49 1 t" }, () => 1);
  expect((await once.find(name))?.fingerprint).toMatch(/^[\w-]{43}$/);
  expect(await once.run({ ...name, fingerprint: "+ 49 1 t" }, () => 2)).toEqual({ value: 1, replayed: true });
  await expect(once.run({ ...name, fingerprint: "+ 49 1 u" }, () => 2)).rejects.toThrow("another payload");
});

describe("a call without key", () => {
  it("runs unprotected, and its payload is not even looked at", async () => {
    const payload = { socket: new URL("http://localhost") };
    for (const key of [undefined, null]) {
      const { value, replayed } = await once.run({ operation: "o", key, payload }, (context) => context.protected);
      expect({ value, replayed }).toEqual({ value: false, replayed: false });
    }
  });

  it("is rejected by the name of its scope where it has no operation", async () => {
    const run = once.run({ scope: "tenant 5", missingKey: "reject" }, () => 1);
    await expect(run).rejects.toThrow("tenant 5");
    await once.run({ scope: "tenant 5", key: "a-key-of-twelve" }, () => 1);
    expect((await once.find({ scope: "tenant 5", key: "a-key-of-twelve" }))?.label).toBe("tenant 5 ****");
  });

  it("is rejected, or gets a key from its payload, when asked to", async () => {
    const call = (missingKey: "reject" | "derive", payload: unknown) =>
      once.run({ operation: "o", missingKey, payload }, () => payload);
    await expect(call("reject", 1)).rejects.toMatchObject({ code: "ERR_KEY_MISSING" });
    expect((await call("derive", { a: 1, b: 2 })).replayed).toBe(false);
    expect((await call("derive", { b: 2, a: 1 })).replayed).toBe(true);
    expect((await call("derive", { a: 1 })).replayed).toBe(false);
  });
});

describe("a key", () => {
  it.each(["", "x".repeat(1_025), 5, {}])("of the wrong form is refused", async (key) => {
    const run = once.run({ operation: "o", key: key as string }, () => 1);
    await expect(run).rejects.toMatchObject({ code: "ERR_KEY_INVALID" });
    await expect(run).rejects.not.toThrow(/x{5}/);
  });

  it("never meets that of another scope", async () => {
    const run = (scope: string) => once.run({ operation: "o", scope, key: "k" }, () => scope);
    expect((await run("a")).value).toBe("a");
    expect((await run("b")).value).toBe("b");
  });
});

describe("a value", () => {
  it("is the same for the first caller and for a replay", async () => {
    const shared = { at: new Date(5) };
    const run = () => once.run({ operation: "o", key: "k" }, () => ({ a: shared, b: shared }));
    const first = await run();
    expect(first.value.a).not.toBe(shared);
    expect((await run()).value).toEqual(first.value);
  });

  it("that can't be kept rejects its first caller, and nothing runs twice", async () => {
    let ran = 0;
    const run = () => once.run({ operation: "o", key: "k" }, () => ({ ran: ++ran, done: () => 1 }));
    await expect(run()).rejects.toMatchObject({ code: "ERR_OUTCOME_NOT_ENCODABLE" });
    await expect(run()).rejects.toThrow(/A function|can't be stored/);
    await expect(run()).rejects.toMatchObject({ code: "ERR_OUTCOME_NOT_KEPT" });
    expect(ran).toBe(1);
  });
});

describe("keepErrors", () => {
  it("replays name, message and code of what was thrown", async () => {
    const error = Object.assign(new RangeError("no funds"), { code: "declined" });
    const run = () => once.run({ operation: "o", key: "k", keepErrors: true }, () => Promise.reject(error));
    await expect(run()).rejects.toBe(error);
    await expect(run()).rejects.toSatisfy(
      (replay) => replay instanceof RecordedFailureError && replay.original.code === "declined",
    );
    await expect(run()).rejects.toMatchObject({ message: "no funds", original: { name: "RangeError" } });
  });

  it("takes what is no error", async () => {
    const run = () => once.run({ operation: "o", key: "k", keepErrors: true }, () => Promise.reject("text"));
    await expect(run()).rejects.toBe("text");
    await expect(run()).rejects.toMatchObject({ original: { name: "Error", message: "text" } });
  });

  it("that throws itself doesn't leave the key claimed", async () => {
    const keepErrors = () => {
      throw new Error("predicate");
    };
    const run = once.run({ operation: "o", key: "k", keepErrors }, () => Promise.reject(new Error("work")));
    await expect(run).rejects.toThrow("predicate");
    expect(await isRunning("k")).toBe(false);
  });

  it("of something that can't be described doesn't leave the key claimed", async () => {
    const run = once.run({ operation: "o", key: "k", keepErrors: true }, () => Promise.reject(Object.create(null)));
    await expect(run).rejects.toThrow();
    expect(await isRunning("k")).toBe(false);
  });
});

describe("wrap", () => {
  it("finds key, scope and payload in the arguments", async () => {
    let ran = 0;
    const charge = once.wrap((order: { id: string; tenant: string; at: number }) => `${order.tenant} ${++ran}`, {
      operation: "charge",
      key: (order) => order.id,
      scope: (order) => order.tenant,
      payload: ({ id }) => id,
    });
    expect(await charge({ id: "1", tenant: "a", at: 1 })).toBe("a 1");
    expect(await charge({ id: "1", tenant: "a", at: 2 })).toBe("a 1");
    expect(await charge({ id: "1", tenant: "b", at: 2 })).toBe("b 2");
  });

  it("compares all arguments unless told otherwise", async () => {
    const charge = once.wrap((_id: string, cents: number) => cents, { operation: "charge", key: (id) => id });
    await charge("1", 5);
    await expect(charge("1", 6)).rejects.toMatchObject({ code: "ERR_KEY_REUSED" });
  });

  it("refuses a scope function that finds nothing, instead of one scope for all", async () => {
    const scope = () => undefined as unknown as string;
    const charge = once.wrap((id: string) => id, { operation: "charge", key: (id) => id, scope });
    await expect(charge("1")).rejects.toThrow(/scope must be a non-empty string/);
  });
});
