/** "Feature 008 — Idempotent Submissions", of FormBridge: its headers, scopes and edge cases. */
import { randomUUID } from "node:crypto";
import { describe, expect, inject, it } from "vitest";
import { frameworks } from "../../src/shared/messages.ts";
import { post } from "./curl.ts";

describe.each(frameworks)("FormBridge's feature 008 on %s", (framework) => {
  const url = (intake: string) =>
    `${inject("playground").addresses[framework]}/api/feature-008/intakes/${intake}/submissions`;
  const submit = (key: string, body: unknown = { name: "Acme" }, intake = "vendor-onboarding", user?: string) =>
    post(url(intake), { "idempotency-key": key, ...(user && { "x-user-id": user }) }, body);

  it("replays with HTTP 200, the original body and its headers", async () => {
    const key = randomUUID();
    const first = await submit(key);
    const second = await submit(key);
    expect(first.status).toBe(201);
    expect(second).toMatchObject({ status: 200, body: first.body });
    expect(second.headers.get("x-idempotent-replayed")).toBe("true");
    expect(second.headers.get("idempotency-key")).toBe(key);
    expect(second.headers.get("x-idempotent-expires")).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  });

  it("gives concurrent duplicates the stored response", async () => {
    const key = randomUUID();
    const answers = await Promise.all(Array.from({ length: 5 }, () => submit(key)));
    expect(new Set(answers.map(({ body }) => body["submissionId"])).size).toBe(1);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 201]);
  });

  it("Request body mismatch: 422", async () => {
    const key = randomUUID();
    await submit(key, { name: "Acme" });
    expect((await submit(key, { name: "Evil Corp" })).status).toBe(422);
  });

  it("scopes keys by intake, and by user where there is one", async () => {
    const key = randomUUID();
    const answers = [
      await submit(key),
      await submit(key, { name: "Acme" }, "access-request"),
      await submit(key, { name: "Acme" }, "vendor-onboarding", "user-1"),
      await submit(key, { name: "Acme" }, "vendor-onboarding", "user-2"),
    ];
    expect(new Set(answers.map(({ body }) => body["submissionId"])).size).toBe(4);
  });

  it("Key missing, or longer than 256 characters: 400", async () => {
    expect((await post(url("vendor-onboarding"), {}, {})).status).toBe(400);
    expect((await submit("k".repeat(257))).status).toBe(400);
    expect((await submit(randomUUID().padEnd(256, "k"))).status).toBe(201);
  });
});
