import type { OncewardError } from "../errors.ts";
import { derivedKey } from "./derived-key.ts";
import { keepAll } from "./keep.ts";
import type { HttpOptions } from "./options.ts";
import { addToReplay } from "./replay.ts";

/** A ready-made set of options for any framework; add a `scope`, and what you want to be different. */
export type Dialect = Omit<HttpOptions<unknown>, "scope">;

const minuteMs = 60_000;
const noMarks = { keyHeader: false, originalTimeHeader: false, expiresHeader: false } as const;

/**
 * Option sets that speak as a known document or service does: `idempotency(once, { ...dialects.stripe, scope })`. They
 * are data: whatever they do, options can do. docs/http.md says where each departs from the defaults, and why.
 */
export const dialects = {
  /**
   * draft-ietf-httpapi-idempotency-key-header-07, its SHOULDs taken at their word: a key is required, results are
   * replayed whether success or error, and a concurrent retry is a conflict at once.
   */
  ietf: { required: true, waitMs: 0, keep: keepAll },

  /** Stripe's API v1: POST only, every result is kept for a day, errors look as Stripe's do. */
  stripe: {
    methods: ["POST"],
    waitMs: 0,
    keep: keepAll,
    replay: { originalTimeHeader: false, expiresHeader: false },
    statuses: { ERR_KEY_REUSED: 400 },
    problem: (error) => ({ body: { error: stripeError(error) } }),
  },

  /**
   * The form broker: keys are made of `contextId` and `formData` when none is sent, a key of the client's own replays
   * whatever the data, replays have status 200 and say so in their body.
   */
  formBroker: {
    methods: ["POST"],
    key: derivedKey({ context: "contextId", fields: ["formData"] }),
    fingerprint: false,
    ttlMs: 24 * 60 * minuteMs,
    replay: { status: 200 },
    transformReplay: addToReplay(({ requestedAt }) => ({
      message: "This submission was already processed. Returning original response.",
      idempotent: true,
      originalSubmittedAt: requestedAt.toISOString(),
    })),
  },

  /**
   * The leads service: `X-Idempotency-Key`, a UUID v4, is required; key and payload together name the operation;
   * whatever was answered is replayed for five minutes; without the store, requests go through unprotected.
   */
  leads: {
    header: "X-Idempotency-Key",
    keyFormat: "uuidv4",
    required: true,
    methods: ["POST"],
    onReuse: "separate",
    ttlMs: 5 * minuteMs,
    keep: keepAll,
    failOpen: true,
  },

  /**
   * FormBridge, feature 008: a key of up to 256 characters, required on POST and optional on PUT and PATCH; duplicates
   * wait for 30 seconds, then 409; replays have status 200; without the store, requests go through unprotected. Its
   * scope is the intake, and the user where there is one.
   */
  formBridgeFeature008: {
    methods: ["POST", "PUT", "PATCH"],
    required: ["POST"],
    maxKeyLength: 256,
    ttlMs: 24 * 60 * minuteMs,
    waitMs: 30_000,
    replay: { status: 200, replayedHeader: "X-Idempotent-Replayed", originalTimeHeader: false },
    failOpen: true,
  },

  /**
   * FormBridge, the design document: URL-safe keys of up to 255 characters, 409 for a reused one, 503 when the wait for
   * the first request is over, a TTL of the request's own, 507 for what was too large. Its scope is the intake.
   */
  formBridgeDesign: {
    keyFormat: /[a-zA-Z0-9_.-]+/,
    maxKeyLength: 255,
    ttlMs: 24 * 60 * minuteMs,
    ttlHeader: true,
    waitMs: 30_000,
    maxWaiters: 10,
    maxOutcomeBytes: 1024 * 1024,
    replay: { ...noMarks, status: 200, originalTimeHeader: "X-Original-Request-Time" },
    statuses: { ERR_KEY_REUSED: 409, ERR_IN_PROGRESS: 503 },
    problem: (error, _proposed, { key }) => {
      if (error.code === "ERR_OUTCOME_NOT_KEPT")
        return { body: { error: "Response too large to cache for idempotency" } };
      if (error.code === "ERR_KEY_REUSED") {
        const message = `Idempotency key '${key}' already used with different payload`;
        return { body: { ok: false, error: { type: "conflict", message, retryable: false } } };
      }
      const { message, retryable } = error;
      const type = retryable ? "service_unavailable" : "invalid_request";
      const again = retryable ? { retryAfterMs: 5_000 } : {};
      return {
        headers: retryable ? [["Retry-After", "5"]] : [],
        body: { ok: false, error: { type, message, retryable, ...again } },
      };
    },
  },

  /**
   * The mobile app's API: 2xx and 409 are kept for a day, `X-Idempotency-Cached` marks a replay, errors have its
   * envelope. Payloads are compared only where a route says `fingerprint: true`. Its scope is the user.
   */
  mobile: {
    fingerprint: false,
    ttlMs: 24 * 60 * minuteMs,
    keep: (status) => (status >= 200 && status < 300) || status === 409,
    replay: { ...noMarks, replayedHeader: "X-Idempotency-Cached" },
    statuses: { ERR_KEY_REUSED: 409 },
    problem: (error, _proposed, { key }) => ({
      body: {
        success: false,
        error:
          error.code === "ERR_KEY_REUSED"
            ? {
                code: "DUPLICATE_OPERATION",
                message: "Idempotency-Key wurde bereits mit unterschiedlichen Daten verwendet.",
                details: { idempotencyKey: key, conflictType: "payload_mismatch" },
              }
            : { code: error.code.replace(/^ERR_/, ""), message: error.message, details: { idempotencyKey: key } },
      },
    }),
  },
} as const satisfies Record<string, Dialect>;

function stripeError({ code, message, documentation, retryable }: OncewardError) {
  if (code === "ERR_IN_PROGRESS")
    return { type: "idempotency_error", code: "idempotency_key_in_use", message, doc_url: documentation };
  const type = code === "ERR_KEY_REUSED" ? "idempotency_error" : retryable ? "api_error" : "invalid_request_error";
  return { type, message, doc_url: documentation };
}
