/**
 * "FormBridge Idempotency Design": its curl commands, diagrams and examples. Where it contradicts itself:
 * - a reused key is 409 here (sections 2.4.2, 6.5, 8.4); only feature 008 says 422;
 * - its error has the key in single quotes, as in the JSON of section 6.5, not in the double ones of section 2.3;
 * - a replay has status 200 (section 7.1), although section 2.3 would return the first status;
 * - the first replay's number is 2, as in the example of section 7.3.
 */
import { randomUUID } from "node:crypto";
import { eventually } from "@onceward/test-servers";
import { describe, expect, inject, it } from "vitest";
import { frameworks } from "../../src/shared/messages.ts";
import { curl, post } from "./curl.ts";

// Each test has keys of its own, and most of them wait for the work.
describe.concurrent.each(frameworks)("FormBridge's design on %s", (framework) => {
  const address = inject("playground").addresses[framework];
  const submit = (key: string, fields: unknown = { companyName: "Acme Corp" }, intake = "vendor-onboarding") =>
    post(`${address}/api/intakes/${intake}/submit`, { "idempotency-key": key }, { fields });

  it("7.1 HTTP API: the initial request, and the replayed one", async () => {
    const command = `
curl -X POST /api/intakes/vendor-onboarding/submit \\
  -H "Idempotency-Key: idem_abc123xyz" \\
  -H "Content-Type: application/json" \\
  -d '{"fields": {"companyName": "Acme Corp"}}'
`;
    const [initial, replayed] = await curl(address, command + command);
    expect(initial?.status).toBe(201);
    expect(initial?.headers.get("content-type")).toMatch(/^application\/json/);
    expect(initial?.headers.get("idempotent-replayed")).toBeNull();
    expect(initial?.body).toEqual({ ok: true, submissionId: expect.stringMatching(/^sub_/), state: "submitted" });
    expect(replayed?.status).toBe(200);
    expect(replayed?.headers.get("idempotent-replayed")).toBe("true");
    expect(Date.parse(replayed?.headers.get("x-original-request-time") ?? "")).toBeLessThanOrEqual(Date.now());
    expect(replayed?.body).toEqual(initial?.body);
  });

  it("2.4.2 and 6.5: the same key with a different payload is a conflict", async () => {
    await submit("idem_abc123", { companyName: "Acme" });
    const conflict = await submit("idem_abc123", { companyName: "Evil Corp" });
    expect(conflict.status).toBe(409);
    expect(conflict.body).toEqual({
      ok: false,
      error: {
        type: "conflict",
        message: "Idempotency key 'idem_abc123' already used with different payload",
        retryable: false,
      },
    });
  });

  it("2.4.3: of concurrent requests one is processed, and the other returns its response", async () => {
    const key = `idem_${randomUUID()}`;
    const [one, other] = await Promise.all([submit(key), submit(key)]);
    expect([one.status, other.status].sort()).toEqual([200, 201]);
    expect(one.body).toEqual(other.body);
  });

  it("2.4.4 and 5.4: an expired key is a new submission", async () => {
    const key = `idem_${randomUUID()}`;
    const first = await submit(key, {}, "flash-poll");
    const within = await submit(key, {}, "flash-poll");
    expect(within.body).toEqual(first.body);
    const after = await eventually(
      async () => {
        const answer = await submit(key, {}, "flash-poll");
        return answer.status === 201 && answer;
      },
      { what: "the key expires", intervalMs: 200 },
    );
    expect(after.body["submissionId"]).not.toBe(first.body["submissionId"]);
  });

  it("5.3: a request may choose its TTL", async () => {
    // The document leaves the fields out.
    const [answer] = await curl(
      address,
      `
curl -X POST /api/intakes/vendor-onboarding/submit \\
  -H "Idempotency-Key: test_key_123" \\
  -H "X-Idempotency-TTL: 3600000" \\
  -H "Content-Type: application/json" \\
  -d '{"fields": {}}'
`,
    );
    expect(answer?.status).toBe(201);
    const key = `idem_${randomUUID()}`;
    const send = (ttl: string) =>
      post(`${address}/api/intakes/access-request/submit`, { "idempotency-key": key, "x-idempotency-ttl": ttl }, {});
    expect((await send("soon")).status).toBe(400);
    const first = await send("1000");
    const isNew = async () => (await send("1000")).body["submissionId"] !== first.body["submissionId"];
    await eventually(isNew, { what: "the key expires after a second, not after a day", intervalMs: 100 });
  });

  it("6.1: the same key in two intakes is no conflict", async () => {
    const key = `workflow-${randomUUID()}_step-1`;
    const onboarding = await submit(key, { companyName: "Acme Corp" });
    const access = await submit(key, { system: "Payroll" }, "access-request");
    expect([onboarding.status, access.status]).toEqual([201, 201]);
  });

  it.each(["with space", "a#b", "a/b", "a?b", "a&b", "a=b", "a%b", "k".repeat(256)])(
    "6.4: refuses the key %s",
    async (key) => {
      expect((await submit(key)).status).toBe(400);
    },
  );

  it("6.4: keys are case-sensitive", async () => {
    const key = `abc-${randomUUID()}`;
    const lower = await submit(key);
    const upper = await submit(key.toUpperCase());
    expect(upper.body["submissionId"]).not.toBe(lower.body["submissionId"]);
  });

  it("6.6.2: a workflow creates, sets fields and submits, each with a key of its own, and may repeat any of it", async () => {
    const workflow = `workflow-${randomUUID()}`;
    const base = `${address}/api/intakes/vendor-onboarding`;
    const key = (step: string) => ({ "idempotency-key": `${workflow}_step-${step}` });
    const create = () => post(`${base}/submissions`, key("create"), { initialFields: { companyName: "Acme Corp" } });
    const { body } = await create();
    expect((await create()).body).toEqual(body);
    const fields = `${base}/submissions/${body["submissionId"]}/fields`;
    const setFields = () => post(fields, key("set-tax-info"), { fields: { taxId: "12-3456789" } }, "PATCH");
    const set = await setFields();
    expect(set).toMatchObject({ status: 200, body: { submissionId: body["submissionId"] } });
    expect((await setFields()).body).toEqual(set.body);
  });

  it("6.6.6: a deterministic key replays", async () => {
    const first = await submit("test_vendor-onboarding_1");
    const second = await submit("test_vendor-onboarding_1");
    expect(second.body["submissionId"]).toBe(first.body["submissionId"]);
  });

  it("7.3: replays emit submission.replayed, numbered", async () => {
    const key = `idem_${randomUUID()}`;
    const { body } = await submit(key);
    await submit(key);
    await submit(key);
    const events = await fetch(`${address}/api/submissions/${body["submissionId"]}/events`);
    const original = { eventId: expect.stringMatching(/^evt_submit_/), type: "submission.submitted" };
    const replay = (replayNumber: number) => ({
      eventId: expect.stringMatching(/^evt_replay_/),
      submissionId: body["submissionId"],
      type: "submission.replayed",
      timestamp: expect.any(String),
      actor: { type: "agent", id: expect.any(String) },
      payload: { idempotencyKey: key, originalEventId: expect.stringMatching(/^evt_submit_/), replayNumber },
    });
    expect(await events.json()).toEqual([expect.objectContaining(original), replay(2), replay(3)]);
  });

  it("1.2: requests without a key work normally", async () => {
    const send = () => post(`${address}/api/intakes/access-request/submit`, {}, { fields: {} });
    const [one, other] = [await send(), await send()];
    expect(one.body["submissionId"]).not.toBe(other.body["submissionId"]);
  });
});
