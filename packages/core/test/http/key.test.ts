import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type KeyFormat, readKey } from "../../src/http/key.ts";
import { isOncewardError } from "../../src/index.ts";

const read = (values: readonly string[], format: KeyFormat = "any", maxLength = 255) =>
  readKey(values, format, maxLength)?.key;
const invalid = (values: readonly string[], format?: KeyFormat, maxLength?: number) => {
  try {
    read(values, format, maxLength);
  } catch (error) {
    return isOncewardError(error, "ERR_KEY_INVALID");
  }
  return false;
};

describe("readKey", () => {
  it("takes the quoted and the bare form for one key, and remembers what came", () => {
    expect(readKey(['"abc"'], "any", 255)).toEqual({ key: "abc", received: '"abc"' });
    expect(readKey(["abc"], "any", 255)).toEqual({ key: "abc", received: "abc" });
    expect(read([])).toBeUndefined();
  });

  it.each([
    ['"a b"', "a b"],
    ['"a\\"b\\\\c"', 'a"b\\c'],
    ['"a,b"', "a,b"],
    ['"abc";p=1;q="x;y";r', "abc"],
    ["a;b=c", "a;b=c"],
  ])("reads %s", (value, key) => expect(read([value])).toBe(key));

  it.each(["", '""', "a,b", "a b", 'a"b', "é", '"abc', '"a" b', '"a", "b"', '"a\\b"', '"é"', '"a";=', "a\tb"])(
    "refuses %j",
    (value) => expect(invalid([value])).toBe(true),
  );

  it("refuses different keys in several headers, but not the same one", () => {
    expect(invalid(["a", "b"])).toBe(true);
    expect(read(["a", '"a"'])).toBe("a");
  });

  it("counts characters after decoding", () => {
    expect(read([`"${"\\\\".repeat(255)}"`])).toHaveLength(255);
    expect(invalid(["x".repeat(256)])).toBe(true);
    expect(invalid(["abcd"], "any", 3)).toBe(true);
  });

  it("checks the format", () => {
    const v4 = "123e4567-e89b-42d3-a456-426614174000";
    const v1 = "123e4567-e89b-12d3-a456-426614174000";
    expect(read([v4], "uuidv4")).toBe(v4);
    expect(invalid([v1], "uuidv4")).toBe(true);
    expect(read([v1], "uuid")).toBe(v1);
    expect(invalid(["a/b"], "urlsafe")).toBe(true);
    expect(read(["a-b_c.d~e"], "urlsafe")).toBe("a-b_c.d~e");
    expect(invalid(["xab"], /ab/)).toBe(true);
    const sticky = /ab/g;
    expect([read(["ab"], sticky), read(["ab"], sticky)]).toEqual(["ab", "ab"]);
    expect(invalid(["no"], (key) => key === "yes")).toBe(true);
  });

  const visible = fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 255 });
  const quote = (key: string) => `"${key.replace(/["\\]/g, "\\$&")}"`;

  it("reads every key of printable ASCII back from its quoted form, whatever parameters follow", () => {
    fc.assert(
      fc.property(visible, fc.constantFrom("", ";v=1", '; a="x,y;z"; b', ";*k=?1"), (key, parameters) => {
        expect(readKey([quote(key) + parameters], "any", 255)).toEqual({ key, received: quote(key) + parameters });
      }),
    );
  });

  it("takes what can go bare for the same key as its quoted form", () => {
    fc.assert(
      // What begins with a quote is not bare: it may well be another key in its quoted form, such as `" "`.
      fc.property(
        visible.filter((key) => !key.startsWith('"')),
        (key) => {
          const canGoBare = !/[\s",]/.test(key);
          expect(invalid([key])).toBe(!canGoBare);
          if (canGoBare) expect(read([key, quote(key)])).toBe(key);
        },
      ),
    );
  });

  it("never echoes what can't stand in a header", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (key, parameter) => {
        for (const value of [key, `"${key}"`, `"a";p=${parameter}`])
          if (!invalid([value])) expect(readKey([value], "any", 255)?.received).toMatch(/^[\x20-\x7e]+$/);
      }),
    );
  });

  it("either reads or refuses, whatever comes", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" }), { maxLength: 3 }), (values) => {
        const key = invalid(values) ? "refused" : read(values);
        expect(key === undefined ? values.length : 1).toBe(key === undefined ? 0 : 1);
      }),
    );
  });
});
