import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createHasher } from "../src/hash.ts";
import { createToken, downstreamKey, maskKey, type RecordName, recordId } from "../src/keys.ts";

const hash = createHasher();
const name = (parts: Partial<RecordName>): RecordName => ({
  namespace: "n",
  scope: undefined,
  operation: undefined,
  key: "k",
  ...parts,
});

describe("record ids", () => {
  it("are URL-safe hashes that show nothing of the key", () => {
    expect(recordId(hash, name({ key: "secret-order-7" }))).toMatch(/^[\w-]{43}$/);
  });

  it("are for ever: a stored record must be found by the next version", () => {
    const id = recordId(hash, { namespace: "default", scope: "tenant-1", operation: "refund", key: "7f3e" });
    expect(id).toBe("IGxgOHN4ZF1eBJvLQTiKG-OJ3hgyYI05vvNwDuQbOps");
  });

  it.each<[string, Partial<RecordName>, Partial<RecordName>]>([
    ["a colon moves", { scope: "a:b", operation: "c" }, { scope: "a", operation: "b:c" }],
    ["a part is missing, or empty", { scope: undefined }, { scope: "" }],
    ["a part is missing, or says so", { scope: undefined }, { scope: "-" }],
    ["scope and operation change places", { scope: "a", operation: undefined }, { scope: undefined, operation: "a" }],
    ["the key holds the operation", { operation: "a", key: "bc" }, { operation: "ab", key: "c" }],
    ["the fingerprint joins", { key: "kf" }, { key: "k", fingerprint: "f" }],
    ["the namespace differs", { namespace: "a" }, { namespace: "b" }],
    ["half a surrogate pair", { key: "\ud800" }, { key: "\ud801" }],
    ["half a surrogate pair, or what replaces it", { scope: "\udc00" }, { scope: "\ufffd" }],
    ["half a surrogate pair, or how it is written", { key: "\ud800" }, { key: '~"\\ud800"' }],
    ["composed and decomposed letters", { key: "é" }, { key: "e\u0301" }],
    ["case", { key: "a" }, { key: "A" }],
  ])("don't meet when %s", (_what, one, other) => {
    expect(recordId(hash, name(one))).not.toBe(recordId(hash, name(other)));
  });

  it("are equal only for equal names (property)", () => {
    // Few letters, so that concatenations often coincide.
    const part = fc.string({ unit: fc.constantFrom("a", ":", "+", "-", "1"), maxLength: 3 });
    const optional = fc.option(part, { nil: undefined });
    const names = fc.record({
      namespace: part,
      scope: optional,
      operation: optional,
      key: part,
      fingerprint: optional,
    });
    const text = (value: RecordName) =>
      JSON.stringify([value.namespace, value.scope ?? 0, value.operation ?? 0, value.key, value.fingerprint ?? 0]);
    fc.assert(
      fc.property(names, names, (one, other) => {
        expect(recordId(hash, one) === recordId(hash, other)).toBe(text(one) === text(other));
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("downstream keys", () => {
  it("differ by record, payload and name, and from the record's id", () => {
    const keys = [
      downstreamKey(hash, "id", "f", "stripe"),
      downstreamKey(hash, "id", "f", "mail"),
      downstreamKey(hash, "id", "g", "stripe"),
      downstreamKey(hash, "ie", "f", "stripe"),
      downstreamKey(hash, "id", "fs", "tripe"),
    ];
    expect(new Set(keys).size).toBe(keys.length);
    expect(downstreamKey(hash, "id", "f", "stripe")).toBe(keys[0]);
  });
});

describe("masked keys", () => {
  it.each([
    ["550e8400-e29b-41d4-a716-446655440000", "550e****0000"],
    ["1234567890123456", "1234****3456"],
    ["123456789012345", "****"],
    ["", "****"],
  ])("%s", (key, masked) => {
    expect(maskKey(key)).toBe(masked);
  });

  it("never show more than eight characters (property)", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 100 }), (key) => {
        expect(maskKey(key).length).toBeLessThanOrEqual(12);
      }),
    );
  });
});

it("tokens are never the same", () => {
  expect(new Set(Array.from({ length: 1_000 }, createToken)).size).toBe(1_000);
});
