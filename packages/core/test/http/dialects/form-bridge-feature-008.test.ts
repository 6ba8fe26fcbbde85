import { describe, expect, it } from "vitest";
import { dialects, type HttpOptions } from "../../../src/index.ts";
import { deferred } from "../../engine/faulty-store.ts";
import { type Asked, serve, unreachableStore } from "../harness.ts";

/** "Composite key: {intake_id}:{user_id}:{idempotency_key}"; the intake is in the path. */
const options: HttpOptions<Asked> = {
  ...dialects.formBridgeFeature008,
  scope: ({ user }) => (user ? { current: `user:${user}`, former: ["anyone"] } : "anyone"),
};
const submission = (more: Asked = {}): Asked => ({
  path: "/intakes/vendor/submissions",
  body: { fields: { name: "Acme" } },
  ...more,
  headers: { "idempotency-key": "9f1c", ...more.headers },
});

describe("FormBridge, Feature 008: Idempotent Submissions", () => {
  it("Required on all POST submission requests; Key missing on required endpoint — HTTP 400 with error message", async () => {
    const reply = await serve(options).send({ path: "/intakes/vendor/submissions" });
    expect(reply).toMatchObject({ status: 400, json: { detail: expect.any(String) }, ran: false });
  });

  it.each(["PUT", "PATCH"])("Optional on PUT/PATCH requests (%s)", async (method) => {
    const { send } = serve(options);
    expect((await send({ method })).ran).toBe(true);
    await send(submission({ method }));
    expect((await send(submission({ method }))).ran).toBe(false);
  });

  it("any string up to 256 characters accepted; Key format invalid — HTTP 400 with error message", async () => {
    const { send } = serve(options);
    for (const [length, status] of [
      [256, 201],
      [257, 400],
    ] as const)
      expect((await send(submission({ headers: { "idempotency-key": "x".repeat(length) } }))).status).toBe(status);
  });

  it("YES: Return stored response (HTTP 200 with original body) + X-Idempotent-Replayed: true header", async () => {
    const { send } = serve(options);
    expect((await send(submission())).header("x-idempotent-replayed")).toBeUndefined();
    const replay = await send(submission());
    expect(replay).toMatchObject({ status: 200, json: { id: 1 }, ran: false });
    expect(replay.header("x-idempotent-replayed")).toBe("true");
  });

  it("Idempotency-Key: Echoed back in response; X-Idempotent-Expires: ISO 8601 timestamp when the key expires (24 hours)", async () => {
    const { send } = serve(options);
    const startedAt = Date.now();
    await send(submission());
    const replay = await send(submission());
    expect(replay.header("idempotency-key")).toBe("9f1c");
    const expires = String(replay.header("x-idempotent-expires"));
    expect(expires).toBe(new Date(expires).toISOString());
    expect(Date.parse(expires) - startedAt).toBeGreaterThanOrEqual(86_400_000);
  });

  it("Key is unique per user per intake; across intakes and users it is another one", async () => {
    const { send, runs } = serve(options);
    await send(submission({ user: "alice" }));
    await send(submission({ user: "bob" }));
    await send(submission({ user: "alice", path: "/intakes/access/submissions" }));
    expect(runs()).toBe(3);
  });

  it("Handle scope transitions (anonymous to authenticated)", async () => {
    const { send } = serve(options);
    await send(submission());
    expect((await send(submission({ user: "alice" }))).ran).toBe(false);
  });

  it("Concurrent duplicates wait for lock release; After lock release, concurrent requests return the stored response", async () => {
    const { promise, resolve } = deferred<void>();
    const { once, send, runs } = serve(options, async () => {
      await promise;
      return { json: { id: 1 } };
    });
    const waiting = deferred<void>();
    once.on("waiting", () => waiting.resolve());
    const first = send(submission());
    const second = send(submission());
    await waiting.promise;
    resolve();
    expect([(await first).status, (await second).status, runs()]).toEqual([201, 200, 1]);
  });

  it("(configurable timeout: 30s default); Lock timeout triggers HTTP 409 Conflict with retry guidance", async () => {
    expect(dialects.formBridgeFeature008.waitMs).toBe(30_000);
    const { promise, resolve } = deferred<void>();
    const { send } = serve({ ...options, waitMs: 20 }, async () => {
      await promise;
      return {};
    });
    const first = send(submission());
    const second = await send(submission());
    expect(second).toMatchObject({ status: 409, json: { retryable: true } });
    expect(second.header("retry-after")).toMatch(/^[1-9]\d*$/);
    resolve();
    await first;
  });

  it("Request body mismatch — same key, different body: HTTP 422 error (key reuse violation)", async () => {
    const { send } = serve(options);
    await send(submission());
    expect((await send(submission({ body: { fields: { name: "Evil" } } }))).status).toBe(422);
  });

  it("Storage failure — fallback to processing without idempotency (log warning)", async () => {
    const { once, send } = serve({ ...options, completeWaitMs: 0, retainMs: 1 }, undefined, unreachableStore());
    const warnings: string[] = [];
    once.on("failed-open", (event) => void warnings.push(event.error.code));
    expect((await send(submission({ user: "alice" }))).ran).toBe(true);
    expect(warnings).toEqual(["ERR_STORE_UNAVAILABLE"]);
  });
});
