import { createHash, createHmac, randomBytes } from "node:crypto";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import * as onNode from "../src/hash.ts";
import { onTheEdge } from "./runtimes.ts";

const secret = Uint8Array.from(randomBytes(32));
let onEdge: typeof onNode;
beforeAll(async () => {
  onEdge = await onTheEdge(() => import("../src/hash.ts"));
});

describe("hashes", () => {
  it("are those of length-prefixed parts", () => {
    expect(onNode.createHasher()(["ab", "é", Uint8Array.of(1)])).toBe(
      createHash("sha256").update("2:ab2:é1:").update(Uint8Array.of(1)).digest("base64url"),
    );
    expect(onNode.createHasher(secret)(["ab"])).toBe(createHmac("sha256", secret).update("2:ab").digest("base64url"));
  });

  it("come at once on Node, and later where only WebCrypto is", async () => {
    expect(onNode.createHasher()(["a"])).toBeTypeOf("string");
    expect(onEdge.createHasher()(["a"])).toBeInstanceOf(Promise);
  });

  it("are the same on both runtimes (property)", async () => {
    const part = fc.oneof(fc.string({ unit: "binary" }), fc.uint8Array(), fc.constant("\ud800 é € 🎉 \udc00"));
    await fc.assert(
      fc.asyncProperty(fc.array(part), fc.constantFrom(undefined, secret), async (parts, key) => {
        expect(await onEdge.createHasher(key)(parts)).toBe(onNode.createHasher(key)(parts));
      }),
    );
  });

  it("differ by secret, and from the plain one", () => {
    const hashers = [onNode.createHasher(), onNode.createHasher(secret), onNode.createHasher(randomBytes(32))];
    expect(new Set(hashers.map((hash) => hash(["a"]))).size).toBe(3);
  });
});

it("tokens and downstream keys exist on the edge too", async () => {
  const { createToken } = await onTheEdge(() => import("../src/keys.ts"));
  expect(createToken()).toMatch(/^[0-9a-f-]{36}$/);
});

it("base64 agrees with Node's (property)", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 20_000, size: "max" }), (bytes) => {
      expect(onNode.toBase64(bytes)).toBe(Buffer.from(bytes).toString("base64"));
      expect(onNode.toBase64Url(bytes)).toBe(Buffer.from(bytes).toString("base64url"));
      expect(onNode.fromBase64(onNode.toBase64(bytes))).toEqual(bytes);
    }),
    { numRuns: 50 },
  );
});
