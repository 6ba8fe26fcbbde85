import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import type { KitResponse } from "./suite.ts";
import { keyed, text, type Worlds } from "./world.ts";

async function* chunked(...chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) {
    await new Promise((resolve) => setImmediate(resolve));
    yield chunk;
  }
}

const everyByte = Uint8Array.from({ length: 256 }, (_, index) => index);
const binary = [["Content-Type", "application/octet-stream"]] as const;

/** Bodies of every kind, byte for byte, of first responses and of replays. */
export function bodies<Request>(worlds: Worlds<Request>): void {
  it.each<[string, () => KitResponse, Uint8Array]>([
    ["204 without a body", () => ({ status: 204 }), new Uint8Array()],
    ["an empty body", () => text("", 200), new Uint8Array()],
    ["a redirect", () => ({ status: 303, headers: [["Location", "/there"]] }), new Uint8Array()],
    ["false", () => text("false", 200), Buffer.from("false")],
    ["every byte there is", () => ({ status: 200, headers: binary, body: everyByte }), everyByte],
    [
      "a stream",
      () => ({ status: 200, headers: binary, body: chunked(everyByte, everyByte) }),
      Buffer.concat([everyByte, everyByte]),
    ],
    ["an empty stream", () => ({ status: 200, headers: binary, body: chunked() }), new Uint8Array()],
  ])("replays %s", async (_name, handle, expected) => {
    const { client, runs } = await worlds.start({ handle });
    const headers = keyed();
    const first = await client.send({ headers, body: "{}" });
    const replay = await client.send({ headers, body: "{}" });
    expect(runs).toHaveLength(1);
    expect(first.status).toBe(handle().status);
    expect(replay.status).toBe(first.status);
    expect(first.body.equals(expected)).toBe(true);
    expect(replay.body.equals(expected)).toBe(true);
    expect(replay.headers["content-type"]).toBe(first.headers["content-type"]);
    expect(replay.headers.location).toBe(first.headers.location);
    expect(replay.headers["idempotent-replayed"]).toBe("true");
  });

  it("replays almost a megabyte", async () => {
    const large = randomBytes(1_000_000);
    const { client } = await worlds.start({ handle: () => ({ status: 200, headers: binary, body: large }) });
    const headers = keyed();
    expect((await client.send({ headers, body: "{}" })).body.equals(large)).toBe(true);
    expect((await client.send({ headers, body: "{}" })).body.equals(large)).toBe(true);
  });

  it("answers duplicates of a response over the limit with 507, and runs nothing twice", async () => {
    const { client, runs } = await worlds.start({
      options: { maxOutcomeBytes: 100 },
      handle: () => ({ status: 200, headers: binary, body: chunked(everyByte) }),
    });
    const headers = keyed();
    expect((await client.send({ headers, body: "{}" })).body.equals(everyByte)).toBe(true);
    expect((await client.send({ headers, body: "{}" })).status).toBe(507);
    expect(runs).toHaveLength(1);
  });

  it("compares forms by their sorted pairs", async () => {
    const { client } = await worlds.start();
    const headers = keyed(undefined, { "content-type": "application/x-www-form-urlencoded" });
    await client.send({ headers, body: "a=1&b=2&b=3" });
    expect((await client.send({ headers, body: "b=2&b=3&a=1" })).headers["idempotent-replayed"]).toBe("true");
    expect((await client.send({ headers, body: "b=3&b=2&a=1" })).status).toBe(422);
  });

  it.each(["application/json", "text/plain", "application/octet-stream"])(
    "takes a request without a body as %s",
    async (type) => {
      const { client } = await worlds.start();
      const headers = keyed(undefined, { "content-type": type });
      const first = await client.send({ headers, body: "" });
      // Some frameworks refuse an empty body of that type: then nothing may be kept of it.
      if (first.status === 201)
        expect((await client.send({ headers, body: "" })).headers["idempotent-replayed"]).toBe("true");
      else expect(first.status).toBeLessThan(500);
    },
  );
}
