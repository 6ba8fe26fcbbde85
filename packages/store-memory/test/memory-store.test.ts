import type { ClaimRequest } from "@onceward/core";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type MemoryStoreOptions, memoryBackend, memoryStore } from "../src/index.ts";

const request = (difference: Partial<ClaimRequest> = {}): ClaimRequest => ({
  token: "token",
  fingerprint: "fingerprint",
  leaseMs: 1_000,
  retainMs: 5_000,
  takeover: true,
  ...difference,
});

afterEach(() => {
  vi.useRealTimers();
});

describe("options", () => {
  it.for([
    [{ maxRecords: 0 }, /maxRecords must be a number from 1 on/],
    [{ maxRecords: Number.NaN }, /maxRecords/],
    [{ maxRecords: "10" as unknown as number }, /maxRecords/],
    [{ now: 0 as unknown as () => number }, /now must be a function/],
    [{ maxRecord: 5 } as MemoryStoreOptions, /no option "maxRecord"; it has maxRecords, now and backend/],
    [{ backend: { records: new Map() } }, /backend must come from memoryBackend\(\)/],
    [{ backend: memoryBackend(), maxRecords: 5 }, /maxRecords can't be combined with backend/],
  ] as const)("%o is an error that names the remedy", ([options, message]) => {
    expect(() => memoryStore(options)).toThrow(expect.objectContaining({ code: "ERR_INVALID_OPTION" }));
    expect(() => memoryStore(options)).toThrow(message);
  });

  it("undefined means absent", async () => {
    const backend = memoryBackend({ maxRecords: undefined, now: undefined });
    await memoryStore({ backend, maxRecords: undefined, now: undefined }).ping();
    await memoryStore({ maxRecords: undefined, backend: undefined }).ping();
  });
});

describe("maxRecords", () => {
  it("rejects a claim beyond it, evicts no live record, and says what to do", async () => {
    const store = memoryStore({ maxRecords: 2, now: () => 0 });
    await store.claim("done", request());
    await store.complete("done", "token", new Uint8Array(), 1_000);
    await store.claim("running", request());
    await expect(store.claim("third", request())).rejects.toMatchObject({
      code: "ERR_STORE_UNAVAILABLE",
      retryable: true,
      message: expect.stringMatching(/maxRecords is 2.*Raise maxRecords/),
    });
    expect((await store.find("done"))?.state).toBe("completed");
    expect((await store.find("running"))?.state).toBe("running");
    expect(await store.find("third")).toBeNull();
  });

  it("makes room by what has expired, only then", async () => {
    let now = 0;
    const backend = memoryBackend({ maxRecords: 2, now: () => now });
    const store = memoryStore({ backend });
    await store.claim("early", request());
    await store.claim("late", request({ retainMs: 60_000 }));
    now = 5_000;
    expect((await store.claim("third", request())).state).toBe("claimed");
    expect([...backend.records.keys()]).toEqual(["late", "third"]);
  });

  it("counts a record that is claimed anew once", async () => {
    let now = 0;
    const store = memoryStore({ maxRecords: 1, now: () => now });
    await store.claim("only", request());
    now = 1_000;
    expect(await store.claim("only", request({ token: "next" }))).toMatchObject({ state: "claimed", attempt: 2 });
    now = 60_000;
    expect(await store.claim("only", request())).toMatchObject({ state: "claimed", attempt: 1 });
  });
});

describe("memory", () => {
  it("keeps no timer, so that it keeps no process alive", async () => {
    vi.useFakeTimers();
    const store = memoryStore();
    const result = await store.claim("id", request());
    const abort = new AbortController();
    const watch = store.watch("id", (result as { fence: number }).fence, abort.signal);
    await store.renew("id", "token", 1_000);
    expect(vi.getTimerCount()).toBe(0);
    abort.abort();
    await watch;
  });

  it("leaves nothing of records that were released, removed or swept", async () => {
    let now = 0;
    const backend = memoryBackend({ now: () => now });
    const store = memoryStore({ backend });
    for (const id of ["released", "removed", "swept"]) await store.claim(id, request());
    await store.release("released", "token");
    await store.remove("removed");
    expect([...backend.records.keys()]).toEqual(["swept"]);
    now = 5_000;
    expect(await store.sweep(10)).toBe(1);
    expect(await store.sweep(10)).toBe(0);
    expect(backend.records.size).toBe(0);
  });

  it("sweeps by expiry, so that what is not due costs nothing", async () => {
    let now = 0;
    const backend = memoryBackend({ now: () => now });
    const store = memoryStore({ backend });
    for (let n = 0; n < 1_000; n++) await store.claim(`late ${n}`, request({ retainMs: 60_000 }));
    for (let n = 0; n < 3; n++) await store.claim(`early ${n}`, request());
    now = 5_000;
    const read = vi.fn();
    for (const record of backend.records.values()) {
      const { expiresAt } = record;
      Object.defineProperty(record, "expiresAt", { get: () => read() ?? expiresAt });
    }
    expect(await store.sweep(100)).toBe(3);
    // Among 1,003 records: some for each of the three and its way through the heap, none for the rest.
    expect(read.mock.calls.length).toBeLessThan(200);
  });
});

describe("clock", () => {
  it("counts whole milliseconds since the epoch", async () => {
    const store = memoryStore();
    await store.claim("id", request());
    const { claimedAt } = (await store.find("id"))!;
    expect(Number.isInteger(claimedAt)).toBe(true);
    expect(Math.abs(claimedAt - Date.now())).toBeLessThan(60_000);
  });

  it("makes fences that are larger than those of an earlier process", async () => {
    const before = await memoryStore({ now: () => 1_000 }).claim("id", request());
    const after = await memoryStore({ now: () => 1_001 }).claim("id", request());
    expect((after as { fence: number }).fence).toBeGreaterThan((before as { fence: number }).fence);
  });
});

describe("close", () => {
  it("ends a list under way", async () => {
    const store = memoryStore();
    for (const id of ["a", "b"]) await store.claim(id, request());
    const list = store.list()[Symbol.asyncIterator]();
    await list.next();
    await store.close();
    await expect(list.next()).rejects.toMatchObject({ code: "ERR_STORE_CLOSED" });
  });
});
