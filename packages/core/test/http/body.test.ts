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
    expect(json('{"a":1}')).not.toBe(json('{"a":"1"}'));
    expect(json('{"a":1,"a":2}')).toBe(json('{"a":2}'));
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

  it("survives deep, wide and polluting JSON", () => {
    expect(json("[".repeat(10_000) + "]".repeat(10_000))).toHaveLength(20_000);
    const wide = `{${Array.from({ length: 100_000 }, (_, index) => `"k${index}":1`).join()}}`;
    expect(typeof json(wide)).toBe("string");
    expect(json('{"__proto__":{"x":1}}')).not.toBe(json("{}"));
    expect(({} as { x?: number }).x).toBeUndefined();
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
    expect(comparableBody({ kind: "parsed", value: Uint8Array.of(1) }, "image/png").content).toEqual(Uint8Array.of(1));
    expect(comparableBody(bytes(""), "application/json")).toEqual(comparableBody({ kind: "none" }, ""));
  });

  it("writes values that only parsers make", () => {
    expect(
      canonicalJson({ date: new Date(0), big: 1n, bytes: Uint8Array.of(1), gone: undefined, holes: [undefined] }),
    ).toBe('{"big":1n,"bytes":bytes:AQ==,"date":"1970-01-01T00:00:00.000Z","holes":[null]}');
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
