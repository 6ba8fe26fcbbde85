/**
 * "Idempotency System Guide", of the leads service: its cURL example and its section "Manual Testing", word for word.
 * Where it contradicts itself: its JavaScript example makes a new key in every try although it means to retry with the
 * same; its text ("Retry logic with same key") is followed.
 */
import { randomUUID } from "node:crypto";
import { describe, expect, inject, it } from "vitest";
import { frameworks } from "../../src/shared/messages.ts";
import { curl, post } from "./curl.ts";

describe.each(frameworks)("the leads service on %s", (framework) => {
  const address = inject("playground").addresses[framework];

  it("takes the cURL example, with a key from uuidgen", async () => {
    const [answer] = await curl(
      address,
      `
curl -X POST https://your-domain.com/api/leads \\
  -H "Content-Type: application/json" \\
  -H "X-Idempotency-Key: $IDEMPOTENCY_KEY" \\
  -d '{
    "name": "John Doe",
    "email": "john@example.com",
    "phone": "+79001234567"
  }'
`.replace("$IDEMPOTENCY_KEY", randomUUID()),
    );
    expect(answer).toMatchObject({ status: 201, body: { status: "success" } });
  });

  it("Test Duplicate Detection, Test Different Data", async () => {
    const [first, second, other] = await curl(
      address,
      `
# First request
curl -X POST https://your-domain.com/api/leads \\
  -H "Content-Type: application/json" \\
  -H "X-Idempotency-Key: 550e8400-e29b-41d4-a716-446655440000" \\
  -d '{"name":"Test","email":"test@example.com"}'

# Second request with same key and data (should return cached response)
curl -X POST https://your-domain.com/api/leads \\
  -H "Content-Type: application/json" \\
  -H "X-Idempotency-Key: 550e8400-e29b-41d4-a716-446655440000" \\
  -d '{"name":"Test","email":"test@example.com"}'

# Same key, different data (should be treated as new request)
curl -X POST https://your-domain.com/api/leads \\
  -H "Content-Type: application/json" \\
  -H "X-Idempotency-Key: 550e8400-e29b-41d4-a716-446655440000" \\
  -d '{"name":"Test2","email":"test@example.com"}'
`,
    );
    expect(first?.status).toBe(201);
    expect(second).toMatchObject({ status: 201, body: first?.body });
    expect(second?.headers.get("idempotent-replayed")).toBe("true");
    expect(other?.status).toBe(201);
    expect(other?.body["id"]).not.toBe(first?.body["id"]);
  });

  it("Masked for Security: events show 550e****0000", async () => {
    await post(
      `${address}/api/leads`,
      { "x-idempotency-key": "550e8400-e29b-41d4-a716-446655440000" },
      { name: "Log" },
    );
    const feed = await fetch(`${inject("playground").url}/playground/feed`);
    let text = "";
    for await (const chunk of feed.body ?? []) {
      text += new TextDecoder().decode(chunk);
      if (text.includes("550e****0000")) break;
    }
    expect(text).not.toContain("550e8400-e29b-41d4-a716-446655440000");
  });

  it("sorts the keys of JSON before it compares", async () => {
    const key = { "x-idempotency-key": randomUUID() };
    const first = await post(`${address}/api/leads`, key, { email: "test@example.com", name: "Test" });
    const second = await post(`${address}/api/leads`, key, { name: "Test", email: "test@example.com" });
    expect(second.body).toEqual(first.body);
  });

  it("caches for 300 seconds", async () => {
    const send = () =>
      post(`${address}/api/leads`, { "x-idempotency-key": "9b2f64b6-7c0c-4f9e-8a3b-0c6f1a2d3e4f" }, {});
    await send();
    const replay = await send();
    const expiresAt = Date.parse(replay.headers.get("x-idempotent-expires") ?? "");
    const requestedAt = Date.parse(replay.headers.get("x-original-request-time") ?? "");
    // From completion, which comes after the request.
    expect(expiresAt - requestedAt).toBeGreaterThanOrEqual(300_000);
    expect(expiresAt - requestedAt).toBeLessThan(330_000);
  });

  it.each([
    ["a missing key", {}],
    ["no UUID", { "x-idempotency-key": "abc" }],
    ["a UUID of version 1", { "x-idempotency-key": "550e8400-e29b-11d4-a716-446655440000" }],
  ])("400 Bad Request: %s", async (_what, headers) => {
    expect((await post(`${address}/api/leads`, headers, { name: "Test" })).status).toBe(400);
  });

  it("validates case-insensitively", async () => {
    const headers = { "x-idempotency-key": randomUUID().toUpperCase() };
    expect((await post(`${address}/api/leads`, headers, { name: "Test" })).status).toBe(201);
  });
});
