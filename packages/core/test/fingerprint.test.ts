import { describe, expect, it } from "vitest";
import { InvalidOptionError } from "../src/errors.ts";
import { fingerprint, givenFingerprint } from "../src/fingerprint.ts";
import { createHasher } from "../src/hash.ts";

const of = (payload: unknown) => fingerprint(createHasher(), payload);

describe("fingerprints are equal", () => {
  it.each<[string, unknown, unknown]>([
    ["whatever the order of properties, at every depth", { a: 1, b: [{ c: 1, d: 2 }] }, { b: [{ d: 2, c: 1 }], a: 1 }],
    ["for the same bytes, Buffer or not", new Uint8Array([1, 2]), Buffer.from([1, 2])],
    ["for bytes in a larger buffer", new Uint8Array([0, 1, 2, 3]).subarray(1, 3), new Uint8Array([1, 2])],
    ["for nothing", undefined, undefined],
  ])("%s", (_what, one, other) => {
    expect(of(one)).toBe(of(other));
  });
});

describe("fingerprints differ", () => {
  it.each<[string, unknown, unknown]>([
    ["by the order of an array", [1, 2], [2, 1]],
    ["by type", { amount: 1 }, { amount: "1" }],
    ["between nothing and null", undefined, null],
    ["between nothing and an empty payload", undefined, {}],
    ["between a missing member and an undefined one", {}, { a: undefined }],
    ["between a date and its text", { at: new Date(0) }, { at: new Date(0).toISOString() }],
    ["between bytes and their text", new TextEncoder().encode("null"), null],
    ["between a map and an object", new Map([["a", 1]]), { a: 1 }],
    ["by precision of a number", 0.1 + 0.2, 0.3],
  ])("%s", (_what, one, other) => {
    expect(of(one)).not.toBe(of(other));
  });
});

it("a payload that can't be compared is refused, with the path and both remedies", () => {
  expect(() => of({ user: new URL("http://localhost") })).toThrow(InvalidOptionError);
  expect(() => of({ user: new URL("http://localhost") })).toThrow(
    /An instance of URL at user .*plain data as payload, or your own `fingerprint`/,
  );
});

describe("a fingerprint of the caller's own", () => {
  const given = (text: string) => givenFingerprint(createHasher(), text);

  it.each(["+ 49 1 t", "two words", "line\n", "\0", "\ud800", "ü", "x".repeat(129)])(
    "that a store can't hold is hashed: %j",
    (text) => {
      expect(given(text)).toMatch(/^[\w-]{43}$/);
      expect(given(text)).toBe(given(text));
      expect(given(text)).not.toBe(given(`${text}\udfff`));
    },
  );

  it.each(["a1B_2.c~3-d", "x".repeat(128)])("that a store can hold stays as it is: %j", (text) => {
    expect(given(text)).toBe(text);
  });
});
