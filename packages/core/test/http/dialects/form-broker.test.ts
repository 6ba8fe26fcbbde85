import { describe, expect, it } from "vitest";
import { dialects } from "../../../src/index.ts";
import { type Asked, serve } from "../harness.ts";

const options = { ...dialects.formBroker, scope: "shared" } as const;
const path = "/api/forms/test-form/submit";
const contextId = "test-form:550e8400-e29b-41d4-a716-446655440000";
const submission = (formData: unknown, more: Partial<Asked> = {}): Asked => ({
  path,
  body: { contextId, formData },
  ...more,
});
const john = { name: "John Doe", email: "john@example.com" };
const success = (run: number) => ({
  json: { success: true, recordId: `a0B${run}`, contextId, message: "Form submitted successfully" },
});

describe("form broker: Idempotency Implementation", () => {
  it('Test 1: Second response has "idempotent": true and same recordId', async () => {
    const { send, runs } = serve(options, success);
    const startedAt = Date.now();
    const first = await send(submission(john));
    expect(first).toMatchObject({ status: 201, json: { recordId: "a0B1", message: "Form submitted successfully" } });
    expect(first.json).not.toHaveProperty("idempotent");
    const second = await send(submission(john));
    expect(second.json).toEqual({
      success: true,
      recordId: "a0B1",
      contextId,
      message: "This submission was already processed. Returning original response.",
      idempotent: true,
      originalSubmittedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(Date.parse(String(second.json["originalSubmittedAt"]))).toBeGreaterThanOrEqual(startedAt);
    expect(runs()).toBe(1);
  });

  it("If exists: Return original response (HTTP 200) without creating duplicate records; not 409 Conflict", async () => {
    const { send } = serve(options, success);
    await send(submission(john));
    expect(await send(submission(john))).toMatchObject({ status: 200, ran: false });
  });

  it("Formula: SHA256(contextId + sortedFormData): All submitted form fields (deterministically hashed)", async () => {
    const { send, runs } = serve(options, success);
    await send(submission(john));
    const reordered = { formData: { email: john.email, name: john.name }, contextId };
    expect((await send({ path, body: reordered })).json["idempotent"]).toBe(true);
    const otherSession = { contextId: "test-form:another", formData: john };
    expect((await send({ path, body: otherSession })).ran).toBe(true);
    expect(runs()).toBe(2);
  });

  it("Test 2: different email: New submission processed, different recordId returned", async () => {
    const { send } = serve(options, success);
    await send(submission(john));
    expect((await send(submission({ ...john, email: "john2@example.com" }))).json["recordId"]).toBe("a0B2");
  });

  it("Test 3: Second submission with the same custom key returns original response (Jane Doe), even though data is different", async () => {
    const { send } = serve(options, success);
    const headers = { "idempotency-key": "my-custom-key-12345" };
    await send(submission({ name: "Jane Doe", email: "jane@example.com" }, { headers }));
    const second = await send(submission({ name: "DIFFERENT NAME", email: "different@example.com" }, { headers }));
    expect(second).toMatchObject({ status: 200, json: { recordId: "a0B1", idempotent: true }, ran: false });
  });

  it("Response Storage: Successful submissions store … Expiration (24 hours, matches session TTL)", async () => {
    const { once, send } = serve(options, success);
    const startedAt = Date.now();
    await send(submission(john, { headers: { "idempotency-key": "k" } }));
    const record = await once.find({ operation: `POST ${path}`, key: "k" });
    expect((record?.expiresAt ?? 0) - startedAt).toBeGreaterThanOrEqual(86_400_000);
    expect((record?.expiresAt ?? 0) - startedAt).toBeLessThan(86_460_000);
  });

  it("Response Storage: Successful submissions store: a failed one runs again", async () => {
    const { send } = serve(options, (run) => (run === 1 ? { status: 502, json: {} } : success(run)));
    await send(submission(john));
    expect((await send(submission(john))).json["recordId"]).toBe("a0B2");
  });

  it("Ensure same contextId used for session: one that sends none, and no key, is told to", async () => {
    const { send } = serve(options, success);
    expect(await send({ path, body: { formData: john } })).toMatchObject({
      status: 400,
      json: { code: "ERR_KEY_MISSING", detail: expect.stringContaining("contextId") },
      ran: false,
    });
  });
});
