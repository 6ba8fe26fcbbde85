import { memoryStore } from "@onceward/store-memory";
import { describe, expect, expectTypeOf, it } from "vitest";
import { type Context, isOncewardError, onceward, type RunResult } from "../src/index.ts";

const refund = async (order: { id: string; cents: number }, note: string) => ({ refunded: order.cents, note });

describe("types", () => {
  it("of run are inferred from the work", async () => {
    const once = onceward({ store: memoryStore() });
    const name = { operation: "o", key: "k" };
    expectTypeOf(await once.run(name, () => 1)).toEqualTypeOf<RunResult<number>>();
    const later = await once.run({ ...name, key: "l" }, async (context) => {
      expectTypeOf(context).toEqualTypeOf<Context>();
      const charge = await context.step("charge", async () => ({ id: "ch" }));
      expectTypeOf(charge).toEqualTypeOf<{ id: string }>();
      return new Map([[charge.id, 1n]]);
    });
    expectTypeOf(later.value).toEqualTypeOf<Map<string, bigint>>();
    expectTypeOf(later.replayed).toEqualTypeOf<boolean>();
    expect(later.value).toEqual(new Map([["ch", 1n]]));
    // @ts-expect-error keep sees what the work returns
    await once.run({ ...name, keep: (value: string) => value === "" }, () => 1);
    // @ts-expect-error there is no such option
    await expect(once.run({ ...name, ttl: 1 }, () => 1)).rejects.toThrow('no option "ttl"');
    await once.close();
  });

  it("of wrap are those of the function", async () => {
    const once = onceward({ store: memoryStore() });
    const refundOnce = once.wrap(refund, { operation: "refund", key: (order) => order.id });
    expectTypeOf(refundOnce).parameters.toEqualTypeOf<Parameters<typeof refund>>();
    expectTypeOf(refundOnce).returns.toEqualTypeOf<Promise<{ refunded: number; note: string }>>();
    expect(await refundOnce({ id: "1", cents: 5 }, "")).toEqual({ refunded: 5, note: "" });
    const sync = once.wrap((a: number) => `${a}`, { operation: "sync", key: String, scope: (a) => `tenant-${a}` });
    expectTypeOf(sync).toEqualTypeOf<(a: number) => Promise<string>>();
    // @ts-expect-error operation is required
    expect(() => once.wrap(refund, { key: (order) => order.id })).toThrow("operation is required");
    await once.close();
  });

  it("of errors narrow", () => {
    const error: unknown = new Error("other");
    if (isOncewardError(error)) expectTypeOf(error.retryAfterMs).toEqualTypeOf<number | undefined>();
    expect(isOncewardError(error)).toBe(false);
  });
});
