import { describe, expect, it } from "vitest";
import { dialects } from "../../../src/index.ts";
import { deferred } from "../../engine/faulty-store.ts";
import { serve, unreachableStore } from "../harness.ts";

const options = { ...dialects.stripe, scope: "shared" } as const;
const headers = { "idempotency-key": "KG5LxwFBepaKHyUD" };

describe("Stripe, API v1: Idempotent requests", () => {
  it("saves the status code and body of the first request; retries return the saved response, including 500 errors", async () => {
    const { send } = serve(options, () => ({ status: 500, json: { error: { type: "api_error" } } }));
    await send({ headers });
    const replay = await send({ headers });
    expect(replay).toMatchObject({ status: 500, json: { error: { type: "api_error" } }, ran: false });
    expect(replay.header("idempotent-replayed")).toBe("true");
    expect(replay.header("idempotency-key")).toBe("KG5LxwFBepaKHyUD");
    expect(replay.header("x-idempotent-expires")).toBeUndefined();
  });

  it("Idempotency keys are up to 255 characters long", async () => {
    const { send } = serve(options);
    expect((await send({ headers: { "idempotency-key": "k".repeat(255) } })).status).toBe(201);
    expect(await send({ headers: { "idempotency-key": "k".repeat(256) } })).toMatchObject({
      status: 400,
      json: { error: { type: "invalid_request_error" } },
    });
  });

  it("You can remove keys after they're at least 24 hours old", async () => {
    const { once, send } = serve(options);
    const startedAt = Date.now();
    await send({ headers });
    const record = await once.find({ operation: "POST /orders", key: headers["idempotency-key"] });
    expect(record?.expiresAt).toBeGreaterThanOrEqual(startedAt + 24 * 3_600_000);
  });

  it("compares incoming parameters to those of the original request and errors if they're not the same", async () => {
    const { send } = serve(options);
    await send({ headers, body: { amount: 1 } });
    expect(await send({ headers, body: { amount: 2 } })).toMatchObject({
      status: 400,
      json: { error: { type: "idempotency_error", doc_url: expect.any(String) } },
      ran: false,
    });
  });

  it("If the request conflicts with another that's executing concurrently, we don't save the result", async () => {
    const { promise, resolve } = deferred<void>();
    const { send } = serve(options, async () => {
      await promise;
      return {};
    });
    const first = send({ headers });
    expect(await send({ headers })).toMatchObject({
      status: 409,
      json: { error: { type: "idempotency_error", code: "idempotency_key_in_use" } },
    });
    resolve();
    expect((await first).status).toBe(201);
    expect((await send({ headers })).status).toBe(201);
  });

  it("All POST requests accept idempotency keys. Don't send them in GET and DELETE requests: this has no effect", async () => {
    const { send } = serve(options);
    for (const method of ["GET", "DELETE"])
      for (const ran of [true, true]) expect((await send({ method, headers })).ran).toBe(ran);
    expect((await send({})).ran).toBe(true);
  });

  it("api_error: covers any other type of problem", async () => {
    const { send } = serve(options, undefined, unreachableStore());
    expect(await send({ headers })).toMatchObject({ status: 503, json: { error: { type: "api_error" } }, ran: false });
  });
});
