import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson, comparableBody, sortedPairs } from "../../src/http/body.ts";
import { isOncewardError } from "../../src/index.ts";

const bytes = (text: string) => ({ kind: "bytes", bytes: new TextEncoder().encode(text) }) as const;
const json = (text: string) => comparableBody(bytes(text), "application/json; charset=utf-8").content;

describe("comparableBody", () => {
  it("sorts JSON at every depth, but not arrays", () => {
    expect(json('{"b":{"d":1,"c":[{"y":1,"x":2}]},"a":1.0}')).toBe(json('{"a":1,"b":{"c":[{"x":2,"y":1}],"d":1}}'));
    expect(json("[1,2]")).not.toBe(json("[2,1]"));
  });

  it("is the same for a parsed body and its bytes", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const parsed = comparableBody({ kind: "parsed", value: JSON.parse(JSON.stringify(value)) }, "application/json");
        expect(parsed.content).toBe(json(JSON.stringify(value)));
      }),
    );
  });

  it("tells different JSON apart", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const [left, right] = [a, b].map((value) => JSON.parse(JSON.stringify(value)) as unknown);
        const sorted = (value: unknown): unknown =>
          Array.isArray(value)
            ? value.map(sorted)
            : typeof value === "object" && value !== null
              ? Object.entries(value)
                  .sort(([x], [y]) => (x < y ? -1 : 1))
                  .map(([name, member]) => ({ name, member: sorted(member) }))
              : value;
        const equal =
          JSON.stringify([sorted(left), Array.isArray(left)]) === JSON.stringify([sorted(right), Array.isArray(right)]);
        if (!equal) expect(canonicalJson(left)).not.toBe(canonicalJson(right));
      }),
    );
  });

  it("is JSON again, with keys in their order", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const canonical = canonicalJson(value);
        expect(JSON.parse(canonical)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(JSON.parse(canonical))).toBe(canonical);
      }),
    );
  });

  it("is JSON again for every number that JSON can say", () => {
    for (const text of ["1e400", "[-1e400,null,0]"])
      expect(JSON.parse(canonicalJson(JSON.parse(text)))).toEqual(JSON.parse(text));
  });

  it("does not depend on the order in which members come, at any depth", () => {
    const reversed = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(reversed);
      if (typeof value !== "object" || value === null) return value;
      return Object.fromEntries(
        Object.entries(value)
          .map(([name, member]) => [name, reversed(member)])
          .reverse(),
      );
    };
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
      }),
    );
  });

  it.each([
    ["numbers as JavaScript reads them", '{"n":1.0e2}', '{"n":100}', true],
    ["numbers past what JavaScript can tell apart", "9007199254740993", "9007199254740992", true],
    ["minus zero and zero", "-0", "0", true],
    ["a number that is too large, and null", "1e400", "null", false],
    ["numbers that are too large either way", "1e400", "-1e400", false],
    ["a number and its text", '{"a":1}', '{"a":"1"}', false],
    ["the last of two equal keys", '{"a":1,"a":2}', '{"a":2}', true],
    ["null and nothing", '{"a":null}', "{}", false],
    ["escapes", '{"\\u0061":"\\u0062"}', '{"a":"b"}', true],
    ["half a surrogate pair and another", '"\\ud800"', '"\\ud801"', false],
    ["an empty list and an empty object", "[]", "{}", false],
    ["a member called toJSON", '{"toJSON":{"b":1,"a":2}}', '{"toJSON":{"a":2,"b":1}}', true],
  ])("treats %s as documented", (_what, left, right, equal) => expect(json(left) === json(right)).toBe(equal));

  const wide = (size: number, order: (index: number) => number) =>
    `{${Array.from({ length: size }, (_, index) => `"k${order(index)}":1`).join()}}`;

  // Seconds of work on a busy machine, and nothing here is about how many.
  it("survives a million keys", { timeout: 120_000 }, () => {
    const million = wide(1_000_000, (index) => index);
    expect(json(million)).toHaveLength(million.length);
  });

  it("survives deep, wide and polluting JSON", () => {
    for (const depth of [10_000, 99_999]) expect(json("[".repeat(depth) + "]".repeat(depth))).toHaveLength(2 * depth);
    expect(json(`${'{"toJSON":'.repeat(10_000)}1${"}".repeat(10_000)}`)).toHaveLength(110_001);
    const reversed = wide(10_000, (index) => 9_999 - index);
    expect(json(wide(10_000, (index) => index))).toBe(json(reversed));
    expect(json('{"__proto__":{"x":1}}')).not.toBe(json("{}"));
    expect(json('{"__proto__":{"x":1},"constructor":1}')).toBe(json('{"constructor":1,"__proto__":{"x":1}}'));
    expect(({} as { x?: number }).x).toBeUndefined();
  });

  it("compares JSON that is absurdly deep byte for byte, and refuses what a parser made endless", () => {
    const deep = "[".repeat(100_001) + "]".repeat(100_001);
    expect(comparableBody(bytes(deep), "application/json").kind).toBe("bytes");
    const endless: unknown[] = [];
    endless.push(endless);
    expect(() => comparableBody({ kind: "parsed", value: endless }, "application/yaml")).toThrow(/nested more than/);
  });

  it("compares what only claims to be JSON byte for byte", () => {
    expect(comparableBody(bytes("{nope"), "application/json").kind).toBe("bytes");
    expect(comparableBody({ kind: "bytes", bytes: Uint8Array.of(0x22, 0xff, 0x22) }, "text/json").kind).toBe("bytes");
  });

  it("sorts forms by name and keeps the order of repeated values", () => {
    const form = (text: string) => comparableBody(bytes(text), "application/x-www-form-urlencoded").content;
    expect(form("b=1&a=2&a=1")).toBe("a=2&a=1&b=1");
    expect(form("a=1&a=2")).not.toBe(form("a=2&a=1"));
    expect(sortedPairs("a=%ff&b")).not.toBe(sortedPairs("a=%fe&b"));
    expect(comparableBody({ kind: "parsed", value: { a: "1" } }, "application/x-www-form-urlencoded").kind).toBe(
      "form",
    );
  });

  it("takes everything else as bytes", () => {
    expect(comparableBody({ kind: "parsed", value: "text" }, "text/plain").kind).toBe("bytes");
    expect(comparableBody(bytes("text"), "text/plain").kind).toBe("bytes");
    expect(comparableBody({ kind: "parsed", value: Uint8Array.of(1) }, "image/png").content).toEqual(Uint8Array.of(1));
    expect(comparableBody(bytes(""), "application/json")).toEqual(comparableBody({ kind: "none" }, ""));
  });

  it("writes values that only parsers make", () => {
    expect(
      canonicalJson({ date: new Date(0), big: 1n, bytes: Uint8Array.of(1), gone: undefined, holes: [undefined] }),
    ).toBe('{"big":1n,"bytes":bytes:AQ==,"date":"1970-01-01T00:00:00.000Z","holes":[null]}');
  });

  it("sees into what only iterates, and refuses what shows nothing", () => {
    const of = (value: unknown) =>
      comparableBody({ kind: "parsed", value }, "application/x-www-form-urlencoded").content;
    expect(of(new URLSearchParams("a=1"))).not.toBe(of(new URLSearchParams("a=2")));
    expect(of(new Map([["a", 1]]))).not.toBe(of(new Map([["a", 2]])));
    expect(of(Object.create(null))).toBe("{}");
    expect(() => of({ file: new Blob(["a"]) })).toThrow(/instance of Blob/);
  });

  it.each([
    [{ kind: "unseen", remedy: "put it first" } as const, "application/json"],
    [{ kind: "parsed", value: {} } as const, "multipart/form-data; boundary=x"],
  ])("refuses a body that can't be seen", (body, type) => {
    let thrown: unknown;
    try {
      comparableBody(body, type);
    } catch (error) {
      thrown = error;
    }
    expect(isOncewardError(thrown, "ERR_INVALID_OPTION")).toBe(true);
  });
});
