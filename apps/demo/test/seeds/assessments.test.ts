/** "Idempotency for Mobile Offline/Retry Readiness": its three test cases, error response and scopes. */
import { randomUUID } from "node:crypto";
import { describe, expect, inject, it } from "vitest";
import { frameworks } from "../../src/shared/messages.ts";
import { post } from "./curl.ts";

describe.each(frameworks)("mobile assessments on %s", (framework) => {
  const base = `${inject("playground").addresses[framework]}/api/funnels/stress/assessments`;
  const write = (path: string, key: string, body: unknown = {}, user = "user-1") =>
    post(`${base}${path}`, { "idempotency-key": key, "x-user-id": user }, body);
  const saveAnswer = (stepId: string, questionId: string, answerValue: number, key: string) =>
    write("/a1/answers/save", key, { stepId, questionId, answerValue });

  it("starts an assessment as the document's request does", async () => {
    const start = () => write("", "550e8400-e29b-41d4-a716-446655440000");
    const first = await start();
    expect(first.status).toBe(201);
    expect((await start()).body).toEqual(first.body);
  });

  it("Test Case 1: Duplicate Request Returns Same Response", async () => {
    const key = randomUUID();
    const response1 = await saveAnswer("s1", "q1", 1, key);
    const response2 = await saveAnswer("s1", "q1", 1, key);
    expect(response2.body).toEqual(response1.body);
    expect(response1.headers.get("X-Idempotency-Cached")).toBeNull();
    expect(response2.headers.get("X-Idempotency-Cached")).toBe("true");
  });

  it("Test Case 2: Conflict Detection", async () => {
    const key = "550e8400-e29b-41d4-a716-446655440000";
    await saveAnswer("s1", "q1", 1, key);
    const response = await saveAnswer("s1", "q1", 2, key);
    expect(response.status).toBe(409);
    expect(response.body).toEqual({
      success: false,
      error: {
        code: "DUPLICATE_OPERATION",
        message: "Idempotency-Key wurde bereits mit unterschiedlichen Daten verwendet.",
        details: { idempotencyKey: key, conflictType: "payload_mismatch" },
      },
    });
  });

  it("Test Case 3: Different Keys Create Different Records", async () => {
    const response1 = await saveAnswer("s1", "q1", 1, randomUUID());
    const response2 = await saveAnswer("s1", "q1", 1, randomUUID());
    const id = ({ body }: typeof response1) => (body["data"] as { id: string }).id;
    expect(id(response1)).not.toBe(id(response2));
  });

  it.each(["", "/a1/steps/s1/validate", "/a1/complete"])("checks no payload at %s", async (path) => {
    const key = randomUUID();
    const first = await write(path, key, { try: 1 });
    const second = await write(path, key, { try: 2 });
    expect(second.body).toEqual(first.body);
  });

  it("scopes keys per user and endpoint", async () => {
    const key = randomUUID();
    const answers = [
      await write("/a1/complete", key),
      await write("/a1/complete", key, {}, "user-2"),
      await write("/a2/complete", key),
    ];
    expect(new Set(answers.map(({ body }) => (body["data"] as { id: string }).id)).size).toBe(3);
  });
});
