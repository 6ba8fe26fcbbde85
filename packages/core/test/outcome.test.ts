import { describe, expect, it } from "vitest";
import type { Codec } from "../src/index.ts";
import { markerOutcome, notKeptError, type Outcome, outcomeKinds, packOutcome, unpackOutcome } from "../src/outcome.ts";

/** Reverses; enough to see whether it was asked. */
const codec: Codec = {
  encode: (plain) => plain.slice().reverse(),
  decode: (coded) => coded.slice().reverse(),
  hmacSecret: new Uint8Array(32),
};
const payload = Uint8Array.of(1, 2, 3);

/** Whatever kind of array holds the bytes. */
const plain = ({ kind, payload }: Outcome) => ({ kind, payload: [...payload] });

describe("outcomes in the store", () => {
  it("begin with numbers that are for ever", () => {
    expect(outcomeKinds).toEqual({ marker: 0, value: 1, error: 2, http: 3 });
  });

  it.each(["value", "error", "http"] as const)("of kind %s come back, with and without codec", async (kind) => {
    const outcome: Outcome = { kind, payload };
    const bare = await packOutcome(outcome, "id", undefined);
    expect([...bare]).toEqual([outcomeKinds[kind], 1, 2, 3]);
    expect(plain(await unpackOutcome(bare, "id", undefined))).toEqual(plain(outcome));
    const coded = await packOutcome(outcome, "id", codec);
    expect([...coded]).toEqual([outcomeKinds[kind] | 0x80, 3, 2, 1]);
    expect(plain(await unpackOutcome(coded, "id", codec))).toEqual(plain(outcome));
  });

  it("may be empty", async () => {
    const empty: Outcome = { kind: "http", payload: new Uint8Array(0) };
    expect(plain(await unpackOutcome(await packOutcome(empty, "id", undefined), "id", undefined))).toEqual(
      plain(empty),
    );
  });

  it.each([
    ["too-large", /larger than maxOutcomeBytes/],
    ["not-encodable", /can't be stored/],
    ["rejected", /the store rejected it/],
  ] as const)("that could not be kept (%s) are read with any codec, and say why", async (reason, why) => {
    const stored = await packOutcome(markerOutcome(reason), "id", codec);
    for (const reader of [undefined, codec]) {
      const marker = await unpackOutcome(stored, "id", reader);
      expect(plain(marker)).toEqual(plain(markerOutcome(reason)));
      expect(notKeptError(marker).message).toMatch(why);
    }
  });

  it("written with a codec are not read without it, nor the other way round", async () => {
    const coded = await packOutcome({ kind: "value", payload }, "id", codec);
    const bare = await packOutcome({ kind: "value", payload }, "id", undefined);
    expect(() => unpackOutcome(coded, "id", undefined)).toThrow(expect.objectContaining({ code: "ERR_CODEC" }));
    expect(() => unpackOutcome(bare, "id", codec)).toThrow(expect.objectContaining({ code: "ERR_CODEC" }));
  });

  it.each([[[]], [[4]], [[0x7f, 1]], [[0x84]]])("of bytes that are not ours (%j) are refused", (bytes) => {
    const read = () => unpackOutcome(Uint8Array.from(bytes), "id", undefined);
    expect(read).toThrow(expect.objectContaining({ code: "ERR_STORE_REJECTED" }));
  });
});
