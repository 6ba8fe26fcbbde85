import { describe, expect, it } from "vitest";
import { dialects, type HttpOptions } from "../../../src/index.ts";
import { deferred } from "../../engine/faulty-store.ts";
import { type Asked, serve, unreachableStore } from "../harness.ts";

/** "Scoped per intake definition: internal storage key is {intakeId}:{idempotencyKey}" */
const options: HttpOptions<Asked> = {
  ...dialects.formBridgeDesign,
  scope: ({ path = "" }) => path.split("/")[3] ?? "none",
};
const submit = (more: Asked = {}): Asked => ({
  path: "/api/intakes/vendor-onboarding/submit",
  body: { fields: { companyName: "Acme Corp" } },
  ...more,
  headers: { "idempotency-key": "idem_abc123xyz", ...more.headers },
});

describe("FormBridge Idempotency Design", () => {
  it("1.2 Transparent to clients: Non-idempotent requests (no key) work normally", async () => {
    const { send } = serve(options);
    expect([(await send({})).ran, (await send({})).ran]).toEqual([true, true]);
  });

  it("2.2, 6.4 Length: 1-255 characters", async () => {
    const { send } = serve(options);
    for (const [length, status] of [
      [255, 201],
      [256, 400],
    ] as const)
      expect((await send(submit({ headers: { "idempotency-key": "k".repeat(length) } }))).status).toBe(status);
  });

  it.each(["a b", "a#b", "a/b", "a?b", "a&b", "a=b", "a%b", "a~b"])(
    "6.4 Allowed characters: a-z A-Z 0-9 _ - . (URL-safe): not %s",
    async (key) =>
      expect(await serve(options).send(submit({ headers: { "idempotency-key": key } }))).toMatchObject({
        status: 400,
        json: { ok: false, error: { retryable: false } },
      }),
  );

  it("6.4 Case-sensitive: abc123 ≠ ABC123", async () => {
    const { send, runs } = serve(options);
    for (const key of ["abc123", "ABC123"]) await send(submit({ headers: { "idempotency-key": key } }));
    expect(runs()).toBe(2);
  });

  it("6.1 The same idempotency key can be reused across different intakes without conflict", async () => {
    const { send, runs } = serve(options);
    await send(submit());
    await send(submit({ path: "/api/intakes/access-request/submit" }));
    expect(runs()).toBe(2);
  });

  it("7.1 Response (replayed request): 200 OK, Idempotent-Replayed: true, X-Original-Request-Time", async () => {
    const { send } = serve(options);
    const startedAt = Date.now();
    expect((await send(submit())).status).toBe(201);
    const replay = await send(submit());
    expect(replay).toMatchObject({ status: 200, json: { id: 1 }, ran: false });
    expect(replay.header("idempotent-replayed")).toBe("true");
    expect(Date.parse(String(replay.header("x-original-request-time")))).toBeGreaterThanOrEqual(startedAt);
  });

  it("2.4.2 409 Conflict returned (not retryable with same key), with the body of 6.5", async () => {
    const { send } = serve(options);
    await send(submit());
    const reply = await send(submit({ body: { fields: { companyName: "Evil Corp" } } }));
    expect(reply.status).toBe(409);
    expect(reply.json).toEqual({
      ok: false,
      error: {
        type: "conflict",
        message: "Idempotency key 'idem_abc123xyz' already used with different payload",
        retryable: false,
      },
    });
  });

  it("2.4.3 Client B returns cached response without reprocessing; Both clients receive identical response", async () => {
    const { promise, resolve } = deferred<void>();
    const { once, send, runs } = serve(options, async (run) => {
      await promise;
      return { json: { submissionId: `sub_${run}` } };
    });
    const waiting = deferred<void>();
    once.on("waiting", () => waiting.resolve());
    const [first, second] = [send(submit()), send(submit())];
    await waiting.promise;
    resolve();
    expect([(await first).json, (await second).json]).toEqual([{ submissionId: "sub_1" }, { submissionId: "sub_1" }]);
    expect(runs()).toBe(1);
  });

  it("4.2.1 Timeout: 30 seconds; 4.5.1 Receives 503 Service Unavailable; retryable: true, retryAfterMs: 5000", async () => {
    expect(dialects.formBridgeDesign.waitMs).toBe(30_000);
    const { promise, resolve } = deferred<void>();
    const { send } = serve({ ...options, waitMs: 20 }, async () => {
      await promise;
      return {};
    });
    const first = send(submit());
    const reply = await send(submit());
    expect(reply).toMatchObject({ status: 503, json: { ok: false, error: { retryable: true, retryAfterMs: 5_000 } } });
    expect(reply.header("retry-after")).toBe("5");
    resolve();
    await first;
  });

  it("5.2 TTL starts when the response is first cached, not when the request is received; 5.1 24 hours", async () => {
    const { once, send } = serve(options);
    await send(submit());
    const name = { operation: "POST /api/intakes/vendor-onboarding/submit", scope: "vendor-onboarding" };
    const record = await once.find({ ...name, key: "idem_abc123xyz" });
    expect((record?.expiresAt ?? 0) - (record?.completedAt ?? 0)).toBe(86_400_000);
  });

  it("5.3 Per-request: X-Idempotency-TTL header", async () => {
    const { once, send } = serve(options);
    await send(submit({ headers: { "x-idempotency-ttl": "3600000" } }));
    const name = { operation: "POST /api/intakes/vendor-onboarding/submit", scope: "vendor-onboarding" };
    const record = await once.find({ ...name, key: "idem_abc123xyz" });
    expect((record?.expiresAt ?? 0) - (record?.completedAt ?? 0)).toBe(3_600_000);
  });

  it("8.1.2 If the first request failed, the retry processes normally", async () => {
    const { send } = serve(options, (run) => (run === 1 ? { status: 500 } : { json: { id: run } }));
    await send(submit());
    expect(await send(submit())).toMatchObject({ status: 201, json: { id: 2 } });
  });

  it("8.2.2 Fail Fast: When storage is unavailable, reject requests with idempotency keys: 503, retryAfterMs: 5000", async () => {
    const { send } = serve(options, undefined, unreachableStore());
    expect(await send(submit())).toMatchObject({
      status: 503,
      json: { ok: false, error: { type: "service_unavailable", retryable: true, retryAfterMs: 5_000 } },
      ran: false,
    });
    expect((await send({})).ran).toBe(true);
  });

  it("8.5.1 1MB limit; Store error marker instead of full response: 507", async () => {
    const { send, runs } = serve(options, () => ({ json: { blob: "x".repeat(1024 * 1024) } }));
    expect((await send(submit())).status).toBe(201);
    expect(await send(submit())).toMatchObject({
      status: 507,
      json: { error: "Response too large to cache for idempotency" },
    });
    expect(runs()).toBe(1);
  });

  it("8.5.2 Queue depth limiting: Maximum 10 waiters allowed. Please retry after a delay", async () => {
    const { promise, resolve } = deferred<void>();
    const { once, send } = serve(options, async () => {
      await promise;
      return {};
    });
    let waiting = 0;
    const ten = deferred<void>();
    once.on("waiting", () => {
      waiting += 1;
      if (waiting === 10) ten.resolve();
    });
    const eleven = Array.from({ length: 11 }, () => send(submit()));
    await ten.promise;
    const tooMany = await send(submit());
    expect(tooMany).toMatchObject({ status: 429, json: { ok: false, error: { retryable: true } } });
    resolve();
    expect((await Promise.all(eleven)).filter(({ ran }) => ran)).toHaveLength(1);
  });
});
