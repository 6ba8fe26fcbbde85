import { randomUUID } from "node:crypto";
import { keepAll } from "@onceward/core";
import { expect, it } from "vitest";
import type { BindingSuite } from "./suite.ts";
import { door, eventually, keyed, text, type Worlds } from "./world.ts";

const problemOf = (body: Buffer) => JSON.parse(body.toString()) as Record<string, unknown>;

/** New, replay, conflict, in progress, missing and invalid keys, what is kept. */
export function decisions<Request>(worlds: Worlds<Request>, suite: BindingSuite<Request>): void {
  const patienceMs = suite.patienceMs ?? 10_000;

  it("runs a new request with its context, and replays it", async () => {
    const { client, runs } = await worlds.start({ handle: (_context, run) => text(`run ${run}`) });
    const key = randomUUID();
    const headers = keyed(key);
    const first = await client.send({ headers, body: '{"a":1,"b":2}' });
    expect([first.status, first.body.toString(), first.headers["idempotent-replayed"]]).toEqual([
      201,
      "run 1",
      undefined,
    ]);
    expect(runs[0]).toMatchObject({ protected: true, key, attempt: 1 });
    expect(runs[0]?.fence).toBeGreaterThan(0);
    const replay = await client.send({ headers: keyed(`"${key}"`), body: '{ "b": 2, "a": 1 }' });
    expect([replay.status, replay.body.toString(), replay.headers["idempotent-replayed"]]).toEqual([
      201,
      "run 1",
      "true",
    ]);
    expect(replay.headers["idempotency-key"]).toBe(`"${key}"`);
    expect(runs).toHaveLength(1);
  });

  it("asks nothing of the store for unprotected requests", async () => {
    const { client, runs, storeCalls } = await worlds.start();
    expect((await client.send({ body: "{}", headers: { "content-type": "application/json" } })).status).toBe(201);
    expect((await client.send({ method: "GET", headers: { "idempotency-key": "k" } })).status).toBe(201);
    expect((await client.send({ method: "OPTIONS", headers: { "idempotency-key": "k" } })).status).toBe(201);
    expect((await client.send({ method: "HEAD", headers: { "idempotency-key": "k" } })).status).toBe(201);
    expect(storeCalls()).toBe(0);
    expect(runs.map((context) => context.protected)).toEqual([false, false, false, false]);
    expect(await runs[0]?.step("a step", () => "just runs")).toBe("just runs");
  });

  it("asks the store twice for a new request and once for a replay", async () => {
    const { client, storeCalls } = await worlds.start();
    const headers = keyed();
    await client.send({ headers, body: "{}" });
    expect(storeCalls()).toBe(2);
    await client.send({ headers, body: "{}" });
    expect(storeCalls()).toBe(3);
  });

  it("rejects another body or query under the same key with 422", async () => {
    const { client, runs } = await worlds.start();
    const headers = keyed();
    await client.send({ headers, body: '{"amount":1}' });
    for (const other of [{ body: '{"amount":2}' }, { body: '{"amount":1}', path: "/orders?dry=1" }, { body: "[]" }]) {
      const reply = await client.send({ headers, ...other });
      expect(reply.status).toBe(422);
      expect(reply.headers["content-type"]).toBe("application/problem+json");
      expect(problemOf(reply.body)).toMatchObject({ status: 422, code: "ERR_KEY_REUSED", retryable: false });
    }
    expect((await client.send({ headers, body: '{"amount":1}' })).status).toBe(201);
    expect(runs).toHaveLength(1);
  });

  it("takes another method, path, mounted router or scope for another operation", async () => {
    const scope = (request: Request) => suite.header(request, "x-user") ?? "nobody";
    const { client, runs } = await worlds.start({ options: { scope } });
    const headers = keyed();
    const asks = [
      {},
      { method: "PATCH" },
      { path: "/refunds" },
      { path: "/mounted/orders" },
      { headers: { ...headers, "x-user": "alice" } },
    ];
    for (const ask of [...asks, ...asks]) expect((await client.send({ headers, body: "{}", ...ask })).status).toBe(201);
    expect(runs).toHaveLength(asks.length);
  });

  it("rejects a duplicate at once where waiting is off, with 409 and Retry-After", async () => {
    const { open, opened } = door();
    const { client, runs } = await worlds.start({
      options: { waitMs: 0 },
      handle: async () => {
        await opened;
        return text("slow");
      },
    });
    const headers = keyed();
    const first = client.send({ headers, body: "{}" });
    await eventually("the handler runs", patienceMs, () => runs.length === 1);
    const reply = await client.send({ headers, body: "{}" });
    expect(reply.status).toBe(409);
    expect(reply.headers["retry-after"]).toMatch(/^[1-9]\d*$/);
    expect(problemOf(reply.body)).toMatchObject({ code: "ERR_IN_PROGRESS", retryable: true });
    open();
    expect((await first).body.toString()).toBe("slow");
    expect((await client.send({ headers, body: "{}" })).headers["idempotent-replayed"]).toBe("true");
  });

  it("runs one of 1,000 concurrent duplicates", async () => {
    const { client, runs } = await worlds.start({ options: { maxWaiters: 1_000 } });
    const headers = keyed();
    const replies = await Promise.all(Array.from({ length: 1_000 }, () => client.send({ headers, body: "{}" })));
    expect(runs).toHaveLength(1);
    expect(new Set(replies.map(({ status, body }) => `${status} ${body}`))).toEqual(new Set(["201 done"]));
    expect(replies.filter((reply) => reply.headers["idempotent-replayed"] === "true")).toHaveLength(999);
  });

  it("runs once behind two servers on one store", async () => {
    const handle = () => text("one of us");
    const [one, two] = await Promise.all([worlds.start({ handle }), worlds.start({ handle })]);
    const headers = keyed();
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, index) => (index % 2 ? one : two).client.send({ headers, body: "{}" })),
    );
    expect(one.runs.length + two.runs.length).toBe(1);
    expect(new Set(replies.map(({ status, body }) => `${status} ${body}`))).toEqual(new Set(["201 one of us"]));
  });

  it("rejects a missing key where one is required", async () => {
    const { client, runs } = await worlds.start({ options: { required: true } });
    const reply = await client.send({ body: "{}", headers: { "content-type": "application/json" } });
    expect([reply.status, problemOf(reply.body)["code"]]).toEqual([400, "ERR_KEY_MISSING"]);
    expect(runs).toHaveLength(0);
  });

  it.each(["", "a,b", '"open', '"a" b', "a b", "x".repeat(256)])("rejects the key %j", async (key) => {
    const { client, runs, storeCalls } = await worlds.start();
    const reply = await client.send({ headers: keyed(key), body: "{}" });
    expect([reply.status, problemOf(reply.body)["code"]]).toEqual([400, "ERR_KEY_INVALID"]);
    expect([runs.length, storeCalls()]).toEqual([0, 0]);
  });

  it("rejects a repeated key header", async () => {
    const { client, runs } = await worlds.start();
    const reply = await client.raw(
      "POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: a\r\nIdempotency-Key: b\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    );
    expect(reply).toMatch(/^HTTP\/1\.1 400 /);
    expect(runs).toHaveLength(0);
  });

  it("lets the next attempt run after a status that is not kept, and after an error", async () => {
    const { client, runs } = await worlds.start({
      handle: (_context, run) => {
        if (run === 1) throw new Error("on purpose");
        return run === 2 ? text("not yet", 503) : text("at last");
      },
    });
    const headers = keyed();
    expect((await client.send({ headers, body: "{}" })).status).toBe(500);
    expect((await client.send({ headers, body: "{}" })).status).toBe(503);
    expect((await client.send({ headers, body: "{}" })).body.toString()).toBe("at last");
    expect((await client.send({ headers, body: "{}" })).body.toString()).toBe("at last");
    expect(runs).toHaveLength(3);
  });

  it("keeps what `keep` says", async () => {
    const { client, runs } = await worlds.start({ options: { keep: keepAll }, handle: () => text("broken", 500) });
    const headers = keyed();
    await client.send({ headers, body: "{}" });
    const replay = await client.send({ headers, body: "{}" });
    expect([replay.status, replay.body.toString(), runs.length]).toEqual([500, "broken", 1]);
  });
}
