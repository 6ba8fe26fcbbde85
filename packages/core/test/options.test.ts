import { readFileSync } from "node:fs";
import { memoryStore } from "@onceward/store-memory";
import { afterAll, describe, expect, it } from "vitest";
import { aesGcmCodec, InvalidOptionError, type OncewardOptions, onceward } from "../src/index.ts";
import { overridePolicy, policyChecks, resolveOptions } from "../src/options.ts";

const store = memoryStore();
afterAll(() => store.close());

const duration = /a whole number of milliseconds, at least 1/;
const durationOrZero = /0, or a whole number of milliseconds/;
const count = /a whole number, or Infinity/;
const flag = /true or false/;

/** Of every option: what it says it must be, and values that it must refuse beside those that all refuse. */
const options: Record<string, { remedy: RegExp; refused: unknown[]; taken: unknown[] }> = {
  ttlMs: { remedy: duration, refused: [0, -1, 1.5, Number.POSITIVE_INFINITY, 1e15, "1000"], taken: [1, 86_400_000] },
  leaseMs: { remedy: duration, refused: [0, -1, 0.5, "10s"], taken: [1, 10_000] },
  retainMs: { remedy: duration, refused: [0, -1], taken: [1] },
  maxRunMs: { remedy: duration, refused: [0, -1], taken: [1] },
  waitMs: { remedy: durationOrZero, refused: [-1, 0.5, Number.POSITIVE_INFINITY], taken: [0, 1] },
  maxWaiters: { remedy: count, refused: [-1, 1.5], taken: [0, 1, Number.POSITIVE_INFINITY] },
  pollMs: { remedy: duration, refused: [0, -1], taken: [1] },
  join: { remedy: flag, refused: [0, 1, "true"], taken: [true, false] },
  onReuse: { remedy: /one of "reject", "replay", "separate"/, refused: [0, "ignore", true], taken: ["replay"] },
  takeover: { remedy: flag, refused: [0, -1, "no"], taken: [true, false] },
  failOpen: { remedy: flag, refused: [0, 1, "yes"], taken: [true, false] },
  keepErrors: { remedy: /a function, or true or false/, refused: [0, 1, "all"], taken: [true, () => true] },
  maxOutcomeBytes: { remedy: count, refused: [-1, 0.5, "1mb"], taken: [0, 1, Number.POSITIVE_INFINITY] },
  completeWaitMs: { remedy: durationOrZero, refused: [-1, "1s"], taken: [0, 1] },
  missingKey: { remedy: /one of "run", "reject", "derive"/, refused: [0, "throw"], taken: ["derive"] },
  namespace: { remedy: /a non-empty string/, refused: ["", 0, -1, true], taken: ["shop"] },
  sweepIntervalMs: { remedy: durationOrZero, refused: [-1, "1m"], taken: [0, 1] },
  detectNesting: { remedy: flag, refused: [0, "no"], taken: [true, false] },
  store: { remedy: /memoryStore\(\)/, refused: [0, "redis", { claim() {} }], taken: [] },
  codec: {
    remedy: /aesGcmCodec/,
    refused: [0, "aes", { encode() {}, decode() {} }, { hmacSecret: new Uint8Array(32) }],
    taken: [],
  },
};

function problem(given: object): Error {
  try {
    onceward({ store, ...given });
  } catch (error) {
    return error as Error;
  }
  throw new Error(`accepted: ${JSON.stringify(given)}`);
}

describe.each(Object.entries(options))("option %s", (name, { remedy, refused, taken }) => {
  it.each([Number.NaN, null, {}, [], Symbol("s"), ...refused])("refuses %o, naming itself and the remedy", (value) => {
    const error = problem({ [name]: value });
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(error.message).toMatch(new RegExp(`^onceward: ${name} must be `));
    expect(error.message).toMatch(remedy);
    expect(error.message).toContain("it is ");
  });

  it("takes what can work", () => {
    for (const value of taken) {
      const given: OncewardOptions = { store, [name]: value };
      const resolved: object = { ...resolveOptions(given).policy, ...resolveOptions(given) };
      expect(resolved).toHaveProperty(name, value);
    }
  });
});

describe("options", () => {
  it("are all tested above", () => {
    expect(Object.keys(options).sort()).toEqual(
      [...Object.keys(policyChecks), "namespace", "sweepIntervalMs", "detectNesting", "store", "codec"].sort(),
    );
  });

  it("of an unknown name are refused, with the names there are", () => {
    expect(problem({ ttl: 1 }).message).toMatch(/^onceward has no option "ttl"; it has store, .*ttlMs/);
    expect(problem({ toString: 1 }).message).toMatch(/no option "toString"/);
    expect(problem(JSON.parse('{"__proto__": 1}')).message).toMatch(/no option "__proto__"/);
  });

  it.each([undefined, null, 1, "memory"])("that are no object (%s) are refused", (given) => {
    expect(() => onceward(given as never)).toThrow(InvalidOptionError);
  });

  it("tell a store from the function that makes one", () => {
    expect(problem({ store: memoryStore }).message).toMatch(/such as memoryStore\(\).*; it is a function$/);
  });

  it("without a store are refused, naming one", () => {
    expect(() => onceward({} as never)).toThrow(/store is required, for example memoryStore\(\)/);
  });

  it("that are undefined are absent", () => {
    const bare = resolveOptions({ store });
    const absent = Object.fromEntries(Object.keys(options).map((name) => [name, undefined]));
    expect(resolveOptions({ ...absent, store })).toEqual(bare);
    expect(overridePolicy(bare.policy, { ttlMs: undefined })).toBe(bare.policy);
    expect(overridePolicy(bare.policy, { ttlMs: 5 })).toEqual({ ...bare.policy, ttlMs: 5 });
  });

  it("are checked in run, wrap and close as well", async () => {
    const once = onceward({ store: memoryStore() });
    const run = (more: object) => once.run({ operation: "o", key: "k", ...more }, () => 1);
    await expect(run({ ttlMs: 0 })).rejects.toThrow(/^run: ttlMs must be/);
    await expect(run({ lease: 1 })).rejects.toThrow(/^run has no option "lease"/);
    await expect(run({ signal: {} })).rejects.toThrow(/^run: signal must be an AbortSignal/);
    await expect(run({ keep: true })).rejects.toThrow(/^run: keep must be a function/);
    await expect(run({ reconcile: true })).rejects.toThrow(/^run: reconcile must be a function/);
    await expect(run({ operation: "" })).rejects.toThrow(/^run: operation must be a non-empty string/);
    await expect(run({ operation: undefined })).rejects.toThrow(/needs an operation/);
    expect(() => once.wrap(() => 1, { operation: "o", key: () => "k", ttlMs: -1 })).toThrow(/^wrap: ttlMs must be/);
    for (const wrong of [
      { key: "k" },
      { key: () => "k", payload: 1 },
      { key: () => "k", keep: 1 },
      { key: () => "k", reconcile: 1 },
    ]) {
      expect(() => once.wrap(() => 1, { operation: "o", ...wrong } as never)).toThrow(/must be a function/);
    }
    expect(() => once.wrap(() => 1, { key: () => "k" } as never)).toThrow(/operation is required/);
    expect(() => once.wrap(() => 1, { operation: "o" } as never)).toThrow(/key is required/);
    await expect(once.close({ drainMs: -1 })).rejects.toThrow(/^close: drainMs must be/);
    await once.close();
  });

  it("of the codec are checked when it is made", () => {
    const good = { keys: { a: new Uint8Array(32) }, current: "a", hmacSecret: new Uint8Array(32) };
    const wrong: [object, RegExp][] = [
      [{ keys: undefined }, /current is "a", which is not among keys/],
      [{ keys: 1 }, /keys must be an object/],
      [{ keys: { a: new Uint8Array(31) } }, /keys\.a must be 16, 24 or 32 random bytes/],
      [{ keys: { a: "secret" } }, /keys\.a must be 16, 24 or 32 random bytes/],
      [{ keys: { ...good.keys, "": new Uint8Array(32) } }, /names of keys/],
      [{ keys: { ...good.keys, ["x".repeat(256)]: new Uint8Array(32) } }, /names of keys/],
      [{ current: "b" }, /current is "b"/],
      [{ current: "" }, /current must be a non-empty string/],
      [{ hmacSecret: new Uint8Array(31) }, /hmacSecret must be at least 32 random bytes/],
      [{ hmacSecret: "secret" }, /hmacSecret must be at least 32 random bytes/],
      [{ key: 1 }, /no option "key"/],
    ];
    expect(() => aesGcmCodec(good)).not.toThrow();
    for (const [change, message] of wrong) {
      const make = () => aesGcmCodec({ ...good, ...change } as never);
      expect(make).toThrow(InvalidOptionError);
      expect(make).toThrow(message);
    }
  });
});

describe("the README's table of options", () => {
  it("has every option of options.ts, and no other", () => {
    const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
    const [, table = ""] = /## Options\n([\s\S]*?)\n## /.exec(readme) ?? [];
    const rows = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    expect(rows.sort()).toEqual(Object.keys(options).sort());
  });
});
