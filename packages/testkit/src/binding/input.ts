import fc from "fast-check";
import { expect } from "vitest";
import { tick } from "../store/waiting.ts";
import { type Bench, type Group, keyed, type World } from "./world.ts";

const head = "POST /orders HTTP/1.1\r\nHost: a\r\nConnection: close\r\n";

/** Bytes of every kind, and bytes that almost have a meaning. */
const bytesLike = (almost: string, maxLength: number) =>
  fc.oneof(
    fc.uint8Array({ maxLength }),
    fc.string({ unit: fc.constantFrom(...almost), maxLength }).map((text) => Buffer.from(text, "latin1")),
  );

/** Sends each input on a connection of its own, and looks at what came back and at what is left in the store. */
async function survives<Request, Input>(
  { start, suite }: Bench<Request>,
  inputs: fc.Arbitrary<Input>,
  numRuns: number,
  requestOf: (input: Input) => readonly (string | Uint8Array)[],
): Promise<void> {
  const world = await start({ options: { leaseMs: 60_000 } });
  const { seed = 1 } = suite;
  await fc.assert(
    fc.asyncProperty(inputs, async (input) => {
      const bytes = Buffer.concat(
        requestOf(input).map((part) => (typeof part === "string" ? Buffer.from(part) : part)),
      );
      wellFormed(await world.client.raw(bytes));
      nothingLeft(world);
    }),
    { numRuns, seed, endOnFailure: true },
  );
}

function wellFormed(reply: string): void {
  const [, status = "", headers = "", body = ""] =
    /^HTTP\/1\.1 (\d{3}) [^\r\n]*\r\n([\s\S]*?\r\n)\r\n([\s\S]*)$/.exec(reply) ?? [];
  expect(status, `an answer that is neither 2xx nor 4xx: ${reply.slice(0, 200)}`).toMatch(/^[24]\d\d$/);
  if (/^content-type: application\/problem\+json\r$/im.test(headers))
    // Without the sizes that chunked coding puts around it.
    expect(JSON.parse(body.replace(/^[^{]*|[^}]*$/g, ""))).toMatchObject({
      status: Number(status),
      code: expect.stringMatching(/^ERR_/),
    });
}

function nothingLeft({ events, faults }: World): void {
  const ended = events("completed").length + events("released").length;
  expect(ended, "every claim has ended").toBe(events("claimed").length);
  expect(faults.calls.filter((call) => call === "complete")).toHaveLength(events("completed").length);
}

/** H15: whatever comes, the answer is a well-formed 4xx, or 2xx where it is valid; no 5xx, no hang, no record left. */
export const input: Group = (declare) => {
  declare("H15.1 any bytes as key", (bench) =>
    survives(bench, bytesLike('"\\;, =a\t*\u00e9:', 300), 80, (key) => [
      head,
      "Content-Length: 2\r\nContent-Type: application/json\r\nIdempotency-Key: ",
      key,
      "\r\n\r\n{}",
    ]),
  );

  declare("H15.2 any bytes as content type", (bench) =>
    survives(bench, fc.tuple(fc.uuid(), bytesLike("applictonjs/+;= *,x-wfrude", 60)), 60, ([key, type]) => [
      head,
      `Content-Length: 7\r\nIdempotency-Key: ${key}\r\nContent-Type: `,
      type,
      '\r\n\r\n{"a":1}',
    ]),
  );

  declare("H15.3 any bytes as body", (bench) =>
    survives(
      bench,
      fc.tuple(
        fc.uuid(),
        fc.constantFrom(
          "application/json",
          "application/x-www-form-urlencoded",
          "text/plain",
          "multipart/form-data",
          "",
        ),
        bytesLike('{}[]",:0e-1%&=+\\u"tfn', 400),
      ),
      100,
      ([key, type, body]) => [
        head,
        `Content-Length: ${body.byteLength}\r\nContent-Type: ${type}\r\nIdempotency-Key: ${key}\r\n\r\n`,
        body,
      ],
    ),
  );

  declare("H15.4 a body over the limit is refused with 413, at the latest when it has come", async ({ start }) => {
    const { client, runs, faults } = await start();
    const [piece, pieces] = ["x".repeat(64_000), 32];
    const connection = client.open();
    connection.write(
      `${head}Content-Type: application/json\r\nIdempotency-Key: a\r\nContent-Length: ${pieces * piece.length}\r\n\r\n`,
    );
    for (let sent = 0; sent < pieces && connection.received() === ""; sent++) {
      connection.write(piece);
      await tick(1);
    }
    await connection.until(/^HTTP\/1\.1 413 /);
    connection.destroy();
    expect([runs.length, faults.calls]).toEqual([0, []]);
    expect((await client.send({ headers: keyed(), body: "{}" })).status).toBe(201);
  });

  declare("H15.5 deep JSON, and JSON of very many keys, is taken or refused", async ({ start }) => {
    const world = await start();
    const bodies = [
      "[".repeat(10_000) + "]".repeat(10_000),
      `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`,
      `{${Array.from({ length: 60_000 }, (_, index) => `"k${index}":0`).join()}}`,
    ];
    for (const body of bodies) {
      const headers = keyed();
      const first = await world.client.send({ headers, body });
      const again = await world.client.send({ headers, body });
      expect([2, 4]).toContain(Math.floor(first.status / 100));
      expect([again.status, again.replayed]).toEqual([first.status, first.status === 201]);
      nothingLeft(world);
    }
  });

  declare("H15.6 JSON that names prototypes pollutes none, and counts like any other", async ({ start }) => {
    const { client } = await start();
    const body = (value: number) =>
      `{"__proto__":{"polluted":${value}},"constructor":{"prototype":{"polluted":${value}}},"toJSON":1}`;
    const headers = keyed();
    const first = await client.send({ headers, body: body(1) });
    expect([2, 4]).toContain(Math.floor(first.status / 100));
    if (first.status === 201) {
      expect((await client.send({ headers, body: body(1) })).replayed).toBe(true);
      expect((await client.send({ headers, body: body(2) })).status).toBe(422);
    }
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
};
