import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import { derivedKey, dialects, type HttpOptions, openapiIdempotency } from "../../src/index.ts";

/** A document with one operation, which the fragment is merged into as docs/http.md shows. */
function documentWith(options: HttpOptions<unknown>, method = "POST") {
  const { parameters, headers, responses } = openapiIdempotency(options, method);
  return {
    openapi: "3.1.0",
    info: { title: "Orders", version: "1" },
    paths: {
      "/orders": {
        [method.toLowerCase()]: {
          parameters,
          responses: { ...responses, "201": { description: "Created", headers } },
        },
      },
    },
  };
}

const statuses = (options: HttpOptions<unknown>) => Object.keys(openapiIdempotency(options).responses);
const every: HttpOptions<unknown> = {
  header: ["Idempotency-Key", "X-Idempotency-Key"],
  keyFormat: "uuid",
  key: derivedKey(),
  ttlHeader: true,
  takeover: false,
};

describe("openapiIdempotency", () => {
  it.each<[string, HttpOptions<unknown>]>([
    ["no options", {}],
    ["every option", every],
    ["an open format", { keyFormat: (key) => key.length > 3, maxKeyLength: Number.POSITIVE_INFINITY }],
    ["other bodies", { problem: (error) => ({ headers: [["Content-Type", "text/plain"]], body: error.code }) }],
    ["no media type", { problem: () => ({ headers: [], body: "" }) }],
    ...Object.entries(dialects),
  ])("merges into a valid OpenAPI 3.1 document: %s", async (_name, options) => {
    const result = await new Validator().validate(documentWith(options));
    expect(result.errors ?? []).toEqual([]);
    expect(result.valid).toBe(true);
  });

  it("the validator would notice", async () => {
    const wrong = documentWith({ header: "X" });
    const operation = wrong.paths["/orders"]["post"] as { parameters: unknown };
    operation.parameters = [{ name: "X", in: "head", schema: {} }];
    expect((await new Validator().validate(wrong)).valid).toBe(false);
  });

  it("describes the key", () => {
    const [key] = openapiIdempotency({ required: true, keyFormat: "uuidv4" }).parameters;
    expect(key).toMatchObject({ name: "Idempotency-Key", in: "header", required: true });
    expect(key?.schema).toMatchObject({ type: "string", minLength: 1, maxLength: 255, format: "uuid" });
    const pattern = new RegExp(String(key?.schema["pattern"]));
    expect(
      ["550E8400-e29b-41d4-a716-446655440000", "550e8400-e29b-11d4-a716-446655440000"].map((k) => pattern.test(k)),
    ).toEqual([true, false]);
    expect(openapiIdempotency({ keyFormat: "urlsafe" }).parameters[0]?.schema["format"]).toBeUndefined();
    expect(openapiIdempotency({ keyFormat: /a|b/ }).parameters[0]?.schema["pattern"]).toBe("^(?:a|b)$");
  });

  it("requires none where one of two headers, or a derived key, will do", () => {
    expect(openapiIdempotency({ ...every, required: true }).parameters.map(({ required }) => required)).toEqual([
      false,
      false,
      false,
    ]);
  });

  it("describes the request's TTL", () => {
    const [, ttl] = openapiIdempotency({ ttlHeader: { minMs: 5, maxMs: 10 } }).parameters;
    expect(ttl).toMatchObject({ name: "x-idempotency-ttl", schema: { minimum: 5, maximum: 10 } });
  });

  it("names the headers of a replay as they are configured", () => {
    expect(Object.keys(openapiIdempotency(dialects.mobile).headers)).toEqual(["X-Idempotency-Cached"]);
    expect(Object.keys(openapiIdempotency().headers)).toHaveLength(4);
  });

  it("lists the errors that can happen, under the statuses they have", () => {
    expect(statuses({})).toEqual(["400", "409", "413", "422", "429", "503", "507"]);
    expect(statuses({ fingerprint: false, waitMs: 0 })).toEqual(["400", "409", "503", "507"]);
    expect(statuses({ ...dialects.formBridgeDesign })).toEqual(["400", "409", "413", "429", "503", "507"]);
    const { "400": invalid, "409": conflict } = openapiIdempotency(every).responses;
    expect(Object.keys(invalid?.content["application/problem+json"]?.["examples"] as object)).toEqual([
      "ERR_KEY_MISSING",
      "ERR_KEY_INVALID",
    ]);
    expect(conflict?.headers).toHaveProperty("Retry-After");
    expect(conflict?.description).toContain("; or: ");
  });

  it("shows errors as the options' own function makes them", () => {
    const { "409": conflict } = openapiIdempotency({ ...dialects.mobile, fingerprint: true }).responses;
    expect(conflict?.content["application/json"]?.["examples"]).toMatchObject({
      ERR_KEY_REUSED: { value: { success: false, error: { code: "DUPLICATE_OPERATION" } } },
    });
  });

  it("says nothing of a method that is not protected", () => {
    expect(openapiIdempotency({}, "get")).toEqual({ parameters: [], headers: {}, responses: {} });
    expect(openapiIdempotency({}, "patch").parameters).toHaveLength(1);
    expect(openapiIdempotency(dialects.formBridgeFeature008, "put").parameters[0]?.required).toBe(false);
    expect(openapiIdempotency(dialects.formBridgeFeature008).parameters[0]?.required).toBe(true);
  });
});
