import { describe, expect, it } from "vitest";
import { dialects, type HttpOptions } from "../../../src/index.ts";
import { type Asked, serve } from "../harness.ts";

const options: HttpOptions<Asked> = { ...dialects.mobile, scope: ({ user = "anna" }) => user };
const key = "550e8400-e29b-41d4-a716-446655440000";
const save = (more: Asked = {}): Asked => ({
  path: "/api/funnels/stress/assessments/7/answers/save",
  body: { stepId: "s", questionId: "q1", answerValue: 1 },
  ...more,
  headers: { "idempotency-key": key, ...more.headers },
});

describe("Idempotency for Mobile Offline/Retry Readiness (E6.2.4)", () => {
  it("Test Case 1: Duplicate Request Returns Same Response: X-Idempotency-Cached: true", async () => {
    const { send } = serve(options);
    const [first, second] = [await send(save()), await send(save())];
    expect([second.status, second.json]).toEqual([first.status, first.json]);
    expect(first.header("x-idempotency-cached")).toBeUndefined();
    expect(second.header("x-idempotency-cached")).toBe("true");
  });

  it.each([200, 201, 204, 299, 409])("Caching Policy: 2xx Success and 409 Conflict: Cached (%i)", async (status) => {
    const { send, runs } = serve(options, () => ({ status }));
    await send(save());
    expect(await send(save())).toMatchObject({ status, ran: false });
    expect(runs()).toBe(1);
  });

  it.each([302, 400, 401, 403, 404, 500, 503])(
    "Caching Policy: Other 4xx and 5xx: NOT cached (may be temporary/fixable) (%i)",
    async (status) => {
      const { send, runs } = serve(options, () => ({ status }));
      await send(save());
      await send(save());
      expect(runs()).toBe(2);
    },
  );

  it("2xx Success (200-299): Cached for 24 hours", async () => {
    const { once, send } = serve(options);
    await send(save());
    const name = { operation: "POST /api/funnels/stress/assessments/7/answers/save", scope: "anna", key };
    const record = await once.find(name);
    expect((record?.expiresAt ?? 0) - (record?.completedAt ?? 0)).toBe(86_400_000);
  });

  it("Test Case 2: Conflict Detection (Payload Check: Yes): 409, DUPLICATE_OPERATION", async () => {
    const { send } = serve({ ...options, fingerprint: true });
    await send(save());
    const reply = await send(save({ body: { stepId: "s", questionId: "q1", answerValue: 2 } }));
    expect(reply.status).toBe(409);
    expect(reply.json).toEqual({
      success: false,
      error: {
        code: "DUPLICATE_OPERATION",
        message: "Idempotency-Key wurde bereits mit unterschiedlichen Daten verwendet.",
        details: { idempotencyKey: key, conflictType: "payload_mismatch" },
      },
    });
    expect((await send(save())).header("x-idempotency-cached")).toBe("true");
  });

  it("Payload Check: No: only endpoints with payload checking will detect conflicts", async () => {
    const { send } = serve(options);
    await send(save());
    expect((await send(save({ body: { other: true } }))).header("x-idempotency-cached")).toBe("true");
  });

  it("Test Case 3: Different Keys Create Different Records", async () => {
    const { send } = serve(options);
    const [one, two] = ["a", "b"].map((key) => send(save({ headers: { "idempotency-key": key } })));
    expect((await one)?.json).not.toEqual((await two)?.json);
  });

  it("Scope Keys Per User: Different users can use the same key without conflicts", async () => {
    const { send, runs } = serve(options);
    for (const user of ["anna", "ben"]) await send(save({ user }));
    expect(runs()).toBe(2);
  });

  it("No Cross-Endpoint Keys: Same key can be used on different endpoints", async () => {
    const { send, runs } = serve(options);
    for (const path of ["/api/funnels/stress/assessments", "/api/funnels/stress/assessments/7/complete"])
      await send(save({ path }));
    expect(runs()).toBe(2);
  });

  it("Error Responses: every error has the envelope", async () => {
    const reply = await serve(options).send(save({ headers: { "idempotency-key": "a,b" } }));
    expect(reply).toMatchObject({ status: 400, json: { success: false, error: { code: "KEY_INVALID" } } });
  });
});
