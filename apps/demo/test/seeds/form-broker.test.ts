/** "Idempotency Implementation", of the form broker: its section "Testing Idempotency", word for word. */
import { describe, expect, inject, it } from "vitest";
import { frameworks } from "../../src/shared/messages.ts";
import { curl } from "./curl.ts";

describe.each(frameworks)("the form broker on %s", (framework) => {
  const address = inject("playground").addresses[framework];

  it("Tests 1 and 2: the same data is one submission, other data another", async () => {
    const [first, second, third] = await curl(
      address,
      `
# First submission
curl -X POST http://localhost:3001/api/forms/test-form/submit \\
  -H "Content-Type: application/json" \\
  -d '{
    "contextId": "test-form:550e8400-e29b-41d4-a716-446655440000",
    "formData": {"name": "John Doe", "email": "john@example.com"}
  }'

# Second submission (same data) - should return idempotent response
curl -X POST http://localhost:3001/api/forms/test-form/submit \\
  -H "Content-Type: application/json" \\
  -d '{
    "contextId": "test-form:550e8400-e29b-41d4-a716-446655440000",
    "formData": {"name": "John Doe", "email": "john@example.com"}
  }'

# Third submission (different email) - should create new record
curl -X POST http://localhost:3001/api/forms/test-form/submit \\
  -H "Content-Type: application/json" \\
  -d '{
    "contextId": "test-form:550e8400-e29b-41d4-a716-446655440000",
    "formData": {"name": "John Doe", "email": "john2@example.com"}
  }'
`,
    );
    expect(first?.body).toEqual({
      success: true,
      recordId: expect.any(String),
      businessRecordIds: [{ id: expect.any(String), objectType: "Lead" }],
      relationshipIds: [expect.any(String)],
      contextId: "test-form:550e8400-e29b-41d4-a716-446655440000",
      message: "Form submitted successfully",
    });
    // "HTTP 200 status (not 409 Conflict)"
    expect(second?.status).toBe(200);
    expect(second?.body).toEqual({
      ...first?.body,
      message: "This submission was already processed. Returning original response.",
      idempotent: true,
      originalSubmittedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(third?.body["idempotent"]).toBeUndefined();
    expect(third?.body["recordId"]).not.toBe(first?.body["recordId"]);
  });

  it("Test 3: a custom key returns the original response, even though data is different", async () => {
    const [first, second] = await curl(
      address,
      `
# First submission with custom key
curl -X POST http://localhost:3001/api/forms/test-form/submit \\
  -H "Content-Type: application/json" \\
  -H "Idempotency-Key: my-custom-key-12345" \\
  -d '{
    "contextId": "test-form:550e8400-e29b-41d4-a716-446655440000",
    "formData": {"name": "Jane Doe", "email": "jane@example.com"}
  }'

# Second submission with same key - should be idempotent
curl -X POST http://localhost:3001/api/forms/test-form/submit \\
  -H "Content-Type: application/json" \\
  -H "Idempotency-Key: my-custom-key-12345" \\
  -d '{
    "contextId": "test-form:550e8400-e29b-41d4-a716-446655440000",
    "formData": {"name": "DIFFERENT NAME", "email": "different@example.com"}
  }'
`,
    );
    expect(second?.status).toBe(200);
    expect(second?.body).toMatchObject({ idempotent: true, recordId: first?.body["recordId"] });
  });
});
