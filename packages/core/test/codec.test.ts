import { randomBytes } from "node:crypto";
import { memoryBackend, memoryStore } from "@onceward/store-memory";
import { beforeAll, describe, expect, it } from "vitest";
import { aesGcmCodec, type Codec, isOncewardError, onceward } from "../src/index.ts";
import { onTheEdge } from "./runtimes.ts";

const random = (length: number) => Uint8Array.from(randomBytes(length));
const keys = { first: random(16), second: random(24), third: random(32) };
const hmacSecret = random(32);
const context = { id: "record-1", part: "value" };
const plain = random(1_000);

let codecs: Record<"node" | "edge", (current: keyof typeof keys, known?: Record<string, Uint8Array>) => Codec>;
beforeAll(async () => {
  const edge = await onTheEdge(() => import("../src/codec.ts"));
  codecs = {
    node: (current, known = keys) => aesGcmCodec({ keys: known, current, hmacSecret }),
    edge: (current, known = keys) => edge.aesGcmCodec({ keys: known, current, hmacSecret }),
  };
});

const runtimes = ["node", "edge"] as const;
const pairs = runtimes.flatMap((writer) => runtimes.map((reader) => [writer, reader] as const));

describe.each(pairs)("AES-GCM, written on %s and read on %s", (writer, reader) => {
  it.each(["first", "second", "third"] as const)("gives back what it got, with the key %s", async (current) => {
    for (const content of [plain, new Uint8Array(0)]) {
      const coded = await codecs[writer](current).encode(content, context);
      expect(await codecs[reader](current).decode(coded, context)).toEqual(content);
    }
  });

  it("reads what a former key wrote", async () => {
    const coded = await codecs[writer]("first").encode(plain, context);
    expect(await codecs[reader]("third").decode(coded, context)).toEqual(plain);
  });
});

describe.each(runtimes)("AES-GCM on %s refuses", (runtime) => {
  const refused = (coded: Uint8Array, where = context, codec = codecs[runtime]("third")) =>
    expect(async () => codec.decode(coded, where)).rejects.toSatisfy((error) => isOncewardError(error, "ERR_CODEC"));

  it("every flipped bit of a record", async () => {
    const coded = await codecs[runtime]("third").encode(Uint8Array.of(1, 2, 3), context);
    for (let bit = 0; bit < coded.length * 8; bit++) {
      const altered = coded.slice();
      altered[bit >> 3]! ^= 1 << (bit & 7);
      await refused(altered);
    }
  });

  it("every shortened record", async () => {
    const coded = await codecs[runtime]("third").encode(Uint8Array.of(1, 2, 3), context);
    for (let length = 0; length < coded.length; length++) await refused(coded.slice(0, length));
  });

  it("bytes moved to another record, or another part of it", async () => {
    const coded = await codecs[runtime]("third").encode(plain, context);
    await refused(coded, { ...context, id: "record-2" });
    await refused(coded, { ...context, part: "step:value" });
    await refused(coded, { id: 'record-1","value', part: "" });
  });

  it("another key of the same name, and a key it was not given", async () => {
    const coded = await codecs[runtime]("third").encode(plain, context);
    await refused(coded, context, codecs[runtime]("third", { third: random(32) }));
    await refused(coded, context, codecs[runtime]("first", { first: keys.first }));
  });
});

it("the same plain text never looks the same", async () => {
  const codec = codecs.node("first");
  expect(await codec.encode(plain, context)).not.toEqual(await codec.encode(plain, context));
});

describe("with a codec", () => {
  it("the store sees neither outcome nor step, and replays are as before", async () => {
    const backend = memoryBackend();
    const once = onceward({ store: memoryStore({ backend }), codec: codecs.node("third") });
    const stored = () =>
      Buffer.concat(
        [...backend.records.values()].flatMap(({ outcome, steps }) => [
          ...(steps?.values() ?? []),
          outcome ?? new Uint8Array(),
        ]),
      );
    let steps = Buffer.alloc(0);
    const pay = () =>
      once.run({ operation: "pay", key: "k-1", payload: { amount: 5 } }, async (run) => {
        const card = await run.step("card", () => "4242-secret");
        steps = stored();
        return { card };
      });
    await pay();
    expect(steps.length).toBeGreaterThan(0);
    for (const bytes of [steps, stored()]) expect(bytes.includes("4242-secret")).toBe(false);
    expect(await pay()).toEqual({ value: { card: "4242-secret" }, replayed: true });
    await once.close();
  });

  it("ids and fingerprints depend on the secret", async () => {
    const seen: string[] = [];
    for (const secret of [hmacSecret, random(32)]) {
      const backend = memoryBackend();
      const codec = aesGcmCodec({ keys, current: "third", hmacSecret: secret });
      const once = onceward({ store: memoryStore({ backend }), codec });
      await once.run({ operation: "pay", key: "k-1", payload: 1 }, () => 1);
      for (const { id, fingerprint } of backend.records.values()) seen.push(id, fingerprint);
      await once.close();
    }
    expect(new Set(seen).size).toBe(4);
  });
});
