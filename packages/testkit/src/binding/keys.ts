import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { problemOf } from "./errors.ts";
import { type Group, keyed } from "./world.ts";

const wrongKeys = ["", "a,b", '"open', '"a" b', '"a"b', "a b", '"bad\\escape"', "x".repeat(256), "caf\u00e9"];

/** H2: the header that carries the key. */
export const keys: Group = (declare) => {
  declare("H2.1 quoted and bare keys are one, echoed as received", async ({ start }) => {
    const { client, runs } = await start();
    const key = randomUUID();
    await client.send({ headers: keyed(key), body: "{}" });
    for (const form of [`"${key}"`, `"${key}";version=1`, key]) {
      const replay = await client.send({ headers: keyed(form), body: "{}" });
      expect([replay.replayed, replay.headers["idempotency-key"]]).toEqual([true, form]);
    }
    expect(runs).toHaveLength(1);
  });

  declare("H2.2 a quoted key may hold spaces and escapes", async ({ start }) => {
    const { client, runs } = await start();
    const key = `a "quoted" \\ key, ${randomUUID()}`;
    const escaped = `"${key.replace(/["\\]/g, "\\$&")}"`;
    expect((await client.send({ headers: keyed(escaped), body: "{}" })).status).toBe(201);
    expect(runs[0]?.key).toBe(key);
  });

  for (const [index, key] of wrongKeys.entries()) {
    const shown = key.length > 20 ? `of ${key.length} characters` : JSON.stringify(key);
    declare(
      `H2.3${String.fromCharCode(97 + index)} the key ${shown} is rejected, and leaves no trace`,
      async ({ start }) => {
        const { client, runs, faults } = await start();
        const reply = await client.send({ headers: keyed(Buffer.from(key).toString("latin1")), body: "{}" });
        expect([reply.status, problemOf(reply)["code"]]).toEqual([400, "ERR_KEY_INVALID"]);
        expect([runs.length, faults.calls]).toEqual([0, []]);
      },
    );
  }

  declare("H2.4 a repeated header is rejected", async ({ start }) => {
    const { client, runs, faults } = await start();
    const reply = await client.raw(
      "POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: a\r\nIdempotency-Key: b\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    );
    expect(reply).toMatch(/^HTTP\/1\.1 400 /);
    expect(reply).toContain("ERR_KEY_INVALID");
    expect([runs.length, faults.calls]).toEqual([0, []]);
  });

  declare("H2.5 several names may carry it, as long as they agree", async ({ start }) => {
    const { client, runs } = await start({ options: { header: ["Idempotency-Key", "X-Idempotency-Key"] } });
    const key = randomUUID();
    const type = { "content-type": "application/json" };
    await client.send({ headers: { ...type, "x-idempotency-key": key }, body: "{}" });
    expect((await client.send({ headers: keyed(key), body: "{}" })).replayed).toBe(true);
    expect((await client.send({ headers: keyed(key, { "x-idempotency-key": `"${key}"` }), body: "{}" })).replayed).toBe(
      true,
    );
    const reply = await client.send({ headers: keyed(key, { "x-idempotency-key": "other" }), body: "{}" });
    expect([reply.status, problemOf(reply)["code"]]).toEqual([400, "ERR_KEY_INVALID"]);
    expect(runs).toHaveLength(1);
  });

  declare("H2.6 a missing key is rejected where one is required", async ({ start }) => {
    const { client, runs } = await start({ options: { required: true } });
    const reply = await client.send({ body: "{}", headers: { "content-type": "application/json" } });
    expect([reply.status, problemOf(reply)["code"]]).toEqual([400, "ERR_KEY_MISSING"]);
    expect((await client.send({ method: "GET" })).status).toBe(201);
    expect(runs).toHaveLength(1);
  });

  declare("H2.7 a key of another form than asked for is rejected", async ({ start }) => {
    const { client } = await start({ options: { keyFormat: "uuidv4" } });
    expect((await client.send({ headers: keyed("not-a-uuid"), body: "{}" })).status).toBe(400);
    expect((await client.send({ headers: keyed(randomUUID()), body: "{}" })).status).toBe(201);
  });
};
