import { describe, expect, it } from "vitest";
import { dialects } from "../../../src/index.ts";
import { type Asked, serve, unreachableStore } from "../harness.ts";

const options = { ...dialects.leads, scope: "shared" } as const;
const key = "550e8400-e29b-41d4-a716-446655440000";
const lead = (body: unknown, more: Record<string, string> = {}): Asked => ({
  path: "/api/leads",
  headers: { "x-idempotency-key": key, ...more },
  body,
});
const test = { name: "Test", email: "test@example.com" };

describe("leads: Idempotency System Guide", () => {
  it("identical requests (same idempotency key + same request data) return the same response", async () => {
    const { send, runs } = serve(options);
    await send(lead(test));
    expect(await send(lead({ email: test.email, name: test.name }))).toMatchObject({
      status: 201,
      json: { id: 1 },
      ran: false,
    });
    expect(runs()).toBe(1);
  });

  it("identical requests return the same response, also one that failed", async () => {
    const { send } = serve(options, () => ({ status: 500, json: { status: "error" } }));
    await send(lead(test));
    expect(await send(lead(test))).toMatchObject({ status: 500, ran: false });
  });

  it("Same key, different data (should be treated as new request)", async () => {
    const { send } = serve(options);
    await send(lead(test));
    expect(await send(lead({ ...test, name: "Test2" }))).toMatchObject({ status: 201, json: { id: 2 }, ran: true });
    expect((await send(lead(test))).json).toEqual({ id: 1 });
  });

  it("Must be present for all POST /api/leads requests: 400 Bad Request: Missing or invalid format", async () => {
    const { send } = serve(options);
    expect((await send({ path: "/api/leads", body: test })).status).toBe(400);
    expect((await send({ path: "/api/leads", body: test, headers: { "idempotency-key": key } })).status).toBe(400);
  });

  it.each(["not-a-uuid", "550e8400-e29b-11d4-a716-446655440000", "550e8400-e29b-41d4-c716-446655440000", `${key}0`])(
    "Must match UUID v4 pattern: %s does not",
    async (bad) => expect((await serve(options).send(lead(test, { "x-idempotency-key": bad }))).status).toBe(400),
  );

  it("Case-insensitive validation", async () => {
    const { send } = serve(options);
    expect((await send(lead(test, { "x-idempotency-key": key.toUpperCase() }))).status).toBe(201);
  });

  it("Form Data: Parse, sort keys", async () => {
    const { send } = serve(options);
    const form = { "content-type": "application/x-www-form-urlencoded" };
    await send(lead({ name: "Test", email: "a" }, form));
    expect((await send(lead({ email: "a", name: "Test" }, form))).ran).toBe(false);
  });

  it("TTL: 300 seconds (5 minutes)", async () => {
    const { send } = serve(options);
    const startedAt = Date.now();
    await send(lead(test));
    const expiresAt = Date.parse(String((await send(lead(test))).header("x-idempotent-expires")));
    expect(expiresAt - startedAt).toBeGreaterThanOrEqual(300_000);
    expect(expiresAt - startedAt).toBeLessThan(330_000);
  });

  it("If Redis is unavailable, requests proceed normally. Errors logged for monitoring", async () => {
    const { once, send } = serve({ ...options, completeWaitMs: 0, retainMs: 1 }, undefined, unreachableStore());
    const events: string[] = [];
    once.on("*", (event) => void events.push(event.type));
    expect(await send(lead(test))).toMatchObject({ status: 201, ran: true });
    expect(events).toContain("failed-open");
  });

  it("Masked for Security: Idempotency keys: 550e****0000", async () => {
    const { once, send } = serve(options);
    const keys: string[] = [];
    once.on("replayed", (event) => void keys.push(event.key));
    await send(lead(test));
    await send(lead(test));
    expect(keys).toEqual(["550e****0000"]);
  });
});
