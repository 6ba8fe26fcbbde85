import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { expect } from "vitest";
import type { KitResponse } from "./suite.ts";
import { type Group, keyed } from "./world.ts";

async function* chunked(...chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) {
    await new Promise((resolve) => setImmediate(resolve));
    yield chunk;
  }
}

const everyByte = Uint8Array.from({ length: 256 }, (_, index) => index);
const nothing = new Uint8Array();
const large = randomBytes(1_000_000);
const zipped = gzipSync("zipped by the handler");

type Kind = readonly [what: string, make: () => KitResponse, bytes: Uint8Array];

const whole = (what: string, type: string, bytes: Uint8Array, status = 200, more: [string, string][] = []): Kind => [
  what,
  () => ({ status, headers: [["Content-Type", type], ...more], body: bytes }),
  bytes,
];
const bare = (what: string, status: number, headers: [string, string][] = []): Kind => [
  what,
  () => ({ status, headers }),
  nothing,
];
const stream = (what: string, ...chunks: readonly Uint8Array[]): Kind => [
  what,
  () => ({ status: 200, headers: [["Content-Type", "application/octet-stream"]], body: chunked(...chunks) }),
  Buffer.concat(chunks),
];
const json = (text: string) => whole(`JSON ${text}`, "application/json", Buffer.from(text));

const kinds: readonly Kind[] = [
  bare("204 without a body", 204),
  bare("205 without a body", 205),
  bare("304 without a body", 304, [["ETag", '"1"']]),
  bare("a redirect", 303, [["Location", "/there"]]),
  bare("200 with nothing", 200),
  whole("an empty text", "text/plain", nothing),
  ...["false", "0", '""', "null", "{}", "[]"].map(json),
  whole("text beyond ASCII", "text/plain; charset=utf-8", Buffer.from("été \u{1f980} \u2028")),
  whole("text that is no UTF-8", "text/plain", Uint8Array.of(0x80, 0xff, 0xfe, 0xc3, 0x28)),
  whole("every byte there is", "application/octet-stream", everyByte),
  whole("gzip", "text/plain", zipped, 200, [["Content-Encoding", "gzip"]]),
  whole("almost a megabyte", "application/octet-stream", large),
  stream("a stream", everyByte, everyByte),
  stream("a stream of nothing"),
  stream("a stream of almost a megabyte", large.subarray(0, 400_000), large.subarray(400_000)),
];

/** H7: bodies of every kind, byte for byte, of first responses and of replays. */
export const bodies: Group = (declare) => {
  for (const [index, [what, make, expected]] of kinds.entries()) {
    declare(`H7.${index + 1} ${what}`, async ({ start }) => {
      const { client, runs } = await start({ handle: make });
      const headers = keyed();
      const [first, replay] = [await client.send({ headers, body: "{}" }), await client.send({ headers, body: "{}" })];
      expect(runs).toHaveLength(1);
      expect([first.replayed, replay.replayed]).toEqual([false, true]);
      expect([first.status, replay.status]).toEqual([make().status, make().status]);
      for (const reply of [first, replay]) {
        expect(reply.body.equals(expected)).toBe(true);
        // RFC 9110: a server must not send one with this status.
        if (reply.status === 204) expect(reply.headers["content-length"]).toBeUndefined();
      }
      for (const name of ["content-type", "content-encoding", "location", "etag"])
        expect([name, replay.headers[name]]).toEqual([name, first.headers[name]]);
      if (first.headers["content-length"] !== undefined)
        expect(replay.headers["content-length"]).toBe(first.headers["content-length"]);
    });
  }
};
