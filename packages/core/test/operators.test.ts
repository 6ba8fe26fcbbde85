import { memoryStore } from "@onceward/store-memory";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Onceward, onceward, type StoredRecord } from "../src/index.ts";

let once: Onceward;
beforeEach(() => {
  once = onceward({ store: memoryStore() });
});
afterEach(() => once.close());

const refund = { operation: "refund", scope: "acme", key: "550e8400-e29b-41d4-a716-446655440000" };

describe("an operator", () => {
  it("looks a key up by the names the application used, and sees it masked", async () => {
    await once.run({ ...refund, payload: 1 }, () => "done");
    expect(await once.find(refund)).toMatchObject({ state: "completed", label: "refund 550e****0000" });
    expect(await once.find({ ...refund, scope: "other" })).toBeNull();
  });

  it("finds what is named by its payload too: separate operations, derived keys", async () => {
    await once.run({ ...refund, payload: 1, onReuse: "separate" }, () => "done");
    expect(await once.find(refund)).toBeNull();
    expect(await once.find({ ...refund, payload: 2, onReuse: "separate" })).toBeNull();
    expect(await once.find({ ...refund, payload: 1, onReuse: "separate" })).toMatchObject({ state: "completed" });

    await once.run({ operation: "refund", payload: { a: 1 }, missingKey: "derive" }, () => "done");
    const derived = { operation: "refund", payload: { a: 1 }, missingKey: "derive" } as const;
    expect(await once.find(derived)).toMatchObject({ state: "completed" });
  });

  it("is told what a name needs", async () => {
    await expect(once.find({ operation: "refund" })).rejects.toMatchObject({ code: "ERR_KEY_MISSING" });
    await expect(once.find({ key: "k" })).rejects.toThrow(/operation .* scope/);
    await expect(once.remove({ ...refund, id: "x" } as never)).rejects.toThrow(/no option "id"/);
  });

  it("removes a record, and the next call runs", async () => {
    await once.run(refund, () => 1);
    expect(await once.remove(refund)).toBe(true);
    expect(await once.remove(refund)).toBe(false);
    expect(await once.run(refund, () => 2)).toEqual({ value: 2, replayed: false });
  });

  it("releases a running record: the next call runs, and the former runner can't complete", async () => {
    let finish = (_value: string) => {};
    const first = once.run({ ...refund, join: false }, () => new Promise<string>((resolve) => (finish = resolve)));
    await expect.poll(async () => (await once.find(refund))?.state).toBe("running");
    expect(await once.release(refund)).toBe(true);
    expect(await once.release(refund)).toBe(false);
    expect(await once.run({ ...refund, join: false }, () => "second")).toEqual({ value: "second", replayed: false });
    finish("first");
    expect(await first).toEqual({ value: "second", replayed: true });
    expect((await once.run(refund, () => "third")).value).toBe("second");
  });

  it("lists what is there, without outcomes", async () => {
    await once.run({ ...refund, key: "a" }, () => 1);
    await once.run({ ...refund, key: "b" }, () => 2);
    const listed: StoredRecord[] = [];
    for await (const record of once.list({ state: "completed" })) listed.push(record);
    expect(listed.map(({ state, outcome }) => ({ state, outcome }))).toEqual(
      Array(2).fill({ state: "completed", outcome: undefined }),
    );
    for await (const record of once.list({ state: "running" })) expect.unreachable(record.id);
  });

  it("is told when the store can't list", () => {
    const { list: _, ...store } = memoryStore();
    expect(() => onceward({ store }).list()).toThrow(/can't list/);
  });
});
