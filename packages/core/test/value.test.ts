import { inspect, isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deserialize, serialize } from "../src/value.ts";

const roundTrip = (value: unknown) => deserialize(serialize(value));

class Money {
  constructor(readonly cents: number) {}
}
class Ledger extends Map {}
class Rows extends Array {}

describe("values that survive a replay", () => {
  it.each([
    ["text", "a\u0000 é 🎉 \ud800"],
    ["a number", 0.1],
    ["negative zero", -0],
    ["not a number", Number.NaN],
    ["infinity", Number.NEGATIVE_INFINITY],
    ["a bigint", 2n ** 80n],
    ["true", true],
    ["null", null],
    ["undefined", undefined],
    ["undefined as a member", { a: undefined, b: [undefined] }],
    ["a date", new Date("2026-01-02T03:04:05.678Z")],
    ["a date that is none", new Date(Number.NaN)],
    [
      "a map",
      new Map<unknown, unknown>([
        [{ a: 1 }, new Map()],
        [1n, new Set([new Date(0)])],
      ]),
    ],
    ["a set", new Set([1, "1", Number.NaN, undefined])],
    ["an array buffer", Uint8Array.of(0, 255).buffer],
    ["an object without prototype", Object.assign(Object.create(null), { a: 1, $: 2 })],
    ['an object with a "$"', { $: ["Date", "0"], other: { $: undefined } }],
    ["an object with __proto__ as its own property", JSON.parse('{"__proto__": {"admin": true}, "a": 1}')],
    ["an object with constructor and toJSON", { constructor: 1, toJSON: "x", length: 3 }],
    ["order of properties", { b: 1, a: 2, 1: 3 }],
    ["a frozen object", Object.freeze({ a: Object.freeze([1]) })],
  ])("%s", (_name, value) => {
    const back = roundTrip(value);
    expect(back).toStrictEqual(value);
    if (typeof value === "object" && value !== null) {
      expect(Object.getPrototypeOf(back)).toBe(Object.getPrototypeOf(value));
      expect(Object.keys(back as object)).toEqual(Object.keys(value));
    }
  });

  it.each([
    new Uint8Array([1, 2, 255]),
    new Uint8ClampedArray([1, 255]),
    new Uint16Array([1, 65_535]),
    new Uint32Array([1, 4_294_967_295]),
    new Int8Array([-1]),
    new Int16Array([-1]),
    new Int32Array([-1]),
    new Float32Array([0.5, Number.NaN]),
    new Float64Array([0.1, -0]),
    new BigInt64Array([-1n]),
    new BigUint64Array([1n]),
    Buffer.from("bytes"),
    new Uint8Array(0),
    // A view of a part, at an odd offset.
    new Uint8Array([9, 8, 7, 6, 5]).subarray(1, 4),
  ])("$constructor.name", (value) => {
    const back = roundTrip({ value }) as { value: typeof value };
    expect(back.value).toStrictEqual(value);
    expect(back.value.constructor).toBe(value.constructor);
    expect(back.value.byteLength).toBe(value.byteLength);
  });

  it("more bytes than a call takes arguments", () => {
    const bytes = new Uint8Array(1_000_000).map((_, index) => index % 251);
    expect(Buffer.compare(roundTrip(bytes) as Uint8Array, bytes)).toBe(0);
  });

  it("Buffer, as plain bytes where there is no Buffer", () => {
    const text = serialize(Buffer.from("bytes"));
    const { Buffer: buffer } = globalThis;
    try {
      Reflect.deleteProperty(globalThis, "Buffer");
      expect(Array.from(deserialize(text) as Uint8Array)).toEqual([98, 121, 116, 101, 115]);
    } finally {
      globalThis.Buffer = buffer;
    }
  });

  it("an own __proto__ gives nobody a prototype", () => {
    const back = roundTrip(JSON.parse('{"__proto__": {"admin": true}}')) as { admin?: boolean };
    expect(back.admin).toBeUndefined();
    expect(Object.hasOwn(back, "__proto__")).toBe(true);
  });

  it("an object met twice comes back as two equal ones", () => {
    const shared = { a: 1 };
    const back = roundTrip([shared, shared]) as object[];
    expect(back).toEqual([shared, shared]);
    expect(back[0]).not.toBe(back[1]);
  });

  it("1,000 levels", () => {
    expect(roundTrip(nested(1_000))).toEqual(nested(1_000));
  });

  it("any data at all (property)", () => {
    const data = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withNullPrototype: true,
      withUnicodeString: true,
      key: fc.oneof(fc.string(), fc.constantFrom("$", "__proto__", "constructor", "toJSON", "then")),
    });
    // To Node 20 no invalid date equals another; it has its own test.
    const comparable = data.filter((value) => !inspect(value, { depth: null }).includes("Invalid Date"));
    fc.assert(
      fc.property(comparable, (value) => {
        // Not Vitest's, which takes a property called constructor for the real one.
        expect(isDeepStrictEqual(roundTrip(value), value)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it("equal data gives equal text when sorted, whatever the order (property)", () => {
    const entries = fc.uniqueArray(fc.tuple(fc.string(), fc.jsonValue()), { selector: ([name]) => name });
    fc.assert(
      fc.property(entries, (members) => {
        const forth = Object.fromEntries(members);
        const back = Object.fromEntries([...members].reverse());
        expect(serialize({ deep: [back] }, "sorted")).toBe(serialize({ deep: [forth] }, "sorted"));
      }),
    );
  });
});

describe("values that are refused, with the path to them", () => {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  const hole = [1, 2, 3];
  delete hole[1];

  it.each<[string, unknown, RegExp]>([
    ["a function", () => 1, /^A function at order\.items\.0 can't/],
    ["a symbol", Symbol("s"), /^A symbol at order\.items\.0/],
    ["a cycle", cycle, /^A cycle at order\.items\.0\.self/],
    ["a class instance", new Money(5), /^An instance of Money at order\.items\.0/],
    ["an error", new Error("no"), /^An instance of Error/],
    ["a subclass of Map", new Ledger(), /^An instance of Ledger/],
    ["a subclass of Array", new Rows(), /^An instance of Rows/],
    ["an unnamed class", new (class {})(), /^An instance of an unnamed class/],
    ["a prototype without constructor", Object.create(Object.create(null)), /^An instance of an unnamed class/],
    ["a boxed primitive", Object("text"), /^An instance of String/],
    ["a regular expression", /x/, /^An instance of RegExp/],
    ["a promise", Promise.resolve(), /^An instance of Promise/],
    ["a weak map", new WeakMap(), /^An instance of WeakMap/],
    ["a data view", new DataView(new ArrayBuffer(1)), /^An instance of DataView/],
    ["an array with holes", hole, /^An array with holes or properties/],
    ["an array with properties", Object.assign([1], { total: 1 }), /^An array with holes or properties/],
    ["a date with properties", Object.assign(new Date(0), { zone: "UTC" }), /^A Date with properties of its own/],
    ["a symbol as a name", { [Symbol("s")]: 1 }, /^A hidden property, or a symbol/],
    ["a hidden property", Object.defineProperty({}, "a", { value: 1 }), /^A hidden property/],
    ["a function in a map", new Map([["f", () => 1]]), /^A function at order\.items\.0\.0\.1/],
    ["1,001 levels", nested(1_001), /^A nesting of more than 1000 levels/],
  ])("%s", (_name, value, message) => {
    const holder = message.source.includes("nesting") ? value : { order: { items: [value] } };
    expect(() => serialize(holder)).toThrow(message);
    expect(() => serialize(holder)).toThrow(TypeError);
  });

  it("at the top", () => {
    expect(() => serialize(() => 1)).toThrow(/^A function at the top can't be stored and given back unchanged/);
  });
});

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = { value };
  return value;
}
