import { describe, expect, it } from "vitest";
import { dialects } from "../../../src/index.ts";
import { deferred } from "../../engine/faulty-store.ts";
import { serve } from "../harness.ts";

const options = { ...dialects.ietf, scope: "shared" } as const;
const key = '"8e03978e-40d5-43dd-bc93-6894a57f9324"';

describe("draft-ietf-httpapi-idempotency-key-header-07", () => {
  it('2.1: Its value MUST be a String (RFC 9651), such as "8e03978e-…"; a bare one names the same key', async () => {
    const { send } = serve(options);
    expect((await send({ headers: { "idempotency-key": key } })).ran).toBe(true);
    for (const again of [key, key.slice(1, -1), `${key};v=1`])
      expect((await send({ headers: { "idempotency-key": again } })).header("idempotent-replayed")).toBe("true");
  });

  it("abstract: can be used to make non-idempotent HTTP methods such as POST or PATCH fault-tolerant", async () => {
    const { send } = serve(options);
    for (const method of ["POST", "PATCH"]) {
      await send({ method, headers: { "idempotency-key": key } });
      expect((await send({ method, headers: { "idempotency-key": key } })).ran).toBe(false);
    }
    for (const method of ["GET", "PUT", "DELETE"]) expect((await send({ method })).ran).toBe(true);
  });

  it("2.6: If the retry matches a completed request, SHOULD respond with the result of the previously completed operation, success or an error", async () => {
    const { send } = serve(options, () => ({ status: 500, json: { sorry: true } }));
    await send({ headers: { "idempotency-key": key } });
    expect(await send({ headers: { "idempotency-key": key } })).toMatchObject({
      status: 500,
      json: { sorry: true },
      ran: false,
    });
  });

  it("2.6: If the request is retried while the original is still being processed, SHOULD respond with a resource conflict error", async () => {
    const { promise, resolve } = deferred<void>();
    const { send } = serve(options, async () => {
      await promise;
      return {};
    });
    const first = send({ headers: { "idempotency-key": key } });
    const reply = await send({ headers: { "idempotency-key": key } });
    expect(reply).toMatchObject({ status: 409, json: { status: 409, title: expect.any(String) } });
    expect(reply.header("retry-after")).toMatch(/^\d+$/);
    resolve();
    expect((await first).status).toBe(201);
  });

  it("2.7: If the header is missing for an operation requiring it, SHOULD reply with 400 and a body with a link to the documentation", async () => {
    const { send } = serve(options);
    const reply = await send({});
    expect(reply).toMatchObject({
      status: 400,
      ran: false,
      json: { type: expect.stringMatching(/^https:/), status: 400 },
    });
    expect(reply.header("content-type")).toBe("application/problem+json");
    expect(reply.header("link")).toMatch(/^<https:.*>; rel="describedby"$/);
  });

  it("2.7: If there is an attempt to reuse a key with a different request payload, SHOULD reply with 422", async () => {
    const { send } = serve(options);
    await send({ headers: { "idempotency-key": key }, body: { amount: 1 } });
    expect(await send({ headers: { "idempotency-key": key }, body: { amount: 2 } })).toMatchObject({
      status: 422,
      ran: false,
    });
  });
});
