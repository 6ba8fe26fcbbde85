import { memoryStore } from "@onceward/store-memory";
import fc from "fast-check";
import { expect, it } from "vitest";
import { derivedKey, type HttpOptions, httpGuard, onceward } from "../../src/index.ts";

/** Bytes as Node shows header values: one character each. */
const headerValue = fc.string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)) });
const nearlyAKey = fc.array(fc.constantFrom('"', "\\", ",", ";", "=", " ", "a", "é", "\t", "key"), { maxLength: 8 });
const key = fc.oneof(
  headerValue,
  nearlyAKey.map((parts) => parts.join("")),
  fc.uuid(),
);
const contentType = fc.oneof(
  headerValue,
  fc.constantFrom(
    "application/json",
    "application/x-www-form-urlencoded",
    "text/plain",
    "multipart/form-data; boundary=x",
  ),
);
const body = fc.oneof(
  fc.uint8Array({ maxLength: 64 }),
  fc.json().map((text) => new TextEncoder().encode(text)),
  fc.webQueryParameters().map((text) => new TextEncoder().encode(text)),
);
const request = fc.record({
  key: fc.option(key),
  contentType,
  body,
  query: fc.oneof(headerValue, fc.webQueryParameters()),
});

it.each<[string, HttpOptions<object>]>([
  ["as it comes", {}],
  ["with required UUIDs", { required: true, keyFormat: "uuid" }],
  ["with derived keys", { key: derivedKey({ context: () => "form", fields: ["a", "__proto__", "length"] }) }],
])(
  "whatever a client sends runs once and is replayed, or is refused with 400 and leaves nothing: %s",
  async (_name, options) => {
    const store = memoryStore();
    const once = onceward({ store });
    const guard = httpGuard<object>(once, "idempotency", { scope: "shared" }, options);
    const known = async () => {
      let count = 0;
      for await (const _record of store.list({})) count += 1;
      return count;
    };

    await fc.assert(
      fc.asyncProperty(request, async ({ key, contentType, body, query }) => {
        const headers = new Map([
          ["content-type", [contentType]],
          ...(key === null ? [] : [["idempotency-key", [key]] as const]),
        ]);
        const enter = () =>
          guard.enter({
            request: {},
            identity: {},
            method: "POST",
            path: () => "/orders",
            query: () => query,
            header: (name) => headers.get(name) ?? [],
            body: () => ({ kind: "bytes", bytes: body }),
            responseHeaders: () => [],
          });
        const before = await known();
        const decision = await enter();
        if (decision?.kind === "run") {
          await decision.recording.finish(201, []);
          const replay = await enter();
          expect(replay).toMatchObject({ kind: "answer", replayed: true, response: { status: 201 } });
        } else if (decision?.kind === "answer" && !decision.replayed) {
          expect([400, 422]).toContain(decision.response.status);
          expect(JSON.parse(new TextDecoder().decode(decision.response.body))).toHaveProperty("code");
          expect(await known()).toBe(before);
        }
      }),
      { numRuns: 300 },
    );
    await once.close();
  },
);
