import type { ErrorCode, OncewardError } from "../errors.ts";
import { type HeaderList, replaceHeaders } from "./headers.ts";
import type { HttpResponse } from "./outcome.ts";

interface Problem {
  readonly status: number;
  readonly title: string;
  readonly detail?: string;
}

// Not the error's own message, which may name hosts and drivers; `store-error` events carry that.
const storeDetail = "Whether this request is a duplicate can't be told now, so it was not run; send it again later";

/** The errors that a client can be told of, with a detail where the error's own message is not for clients. */
const problems = {
  ERR_KEY_MISSING: { status: 400, title: "An idempotency key is required" },
  ERR_KEY_INVALID: { status: 400, title: "The idempotency key is invalid" },
  ERR_IN_PROGRESS: { status: 409, title: "A request with this idempotency key is in progress" },
  ERR_OUTCOME_UNKNOWN: { status: 409, title: "The outcome of the first request is unknown" },
  ERR_BODY_TOO_LARGE: { status: 413, title: "The request's body is too large" },
  ERR_KEY_REUSED: { status: 422, title: "The idempotency key was used for another request" },
  ERR_TOO_MANY_WAITERS: { status: 429, title: "Too many requests wait for this idempotency key" },
  ERR_STORE_UNAVAILABLE: { status: 503, title: "Idempotency is unavailable", detail: storeDetail },
  ERR_STORE_CLOSED: { status: 503, title: "Idempotency is unavailable", detail: storeDetail },
  ERR_CLOSED: { status: 503, title: "The server is shutting down" },
  ERR_OUTCOME_NOT_KEPT: { status: 507, title: "The response was not kept" },
} as const satisfies Partial<Record<ErrorCode, Problem>>;

/** Codes of the errors that a client can be told of. */
export type ProblemCode = keyof typeof problems;
/** All of them. */
export const problemCodes = Object.keys(problems) as ProblemCode[];
/** What an error is called. */
export const titleOf = (code: ProblemCode): string => problems[code].title;
/** Other statuses for some errors. */
export type Statuses = { readonly [Code in ProblemCode]?: number | undefined };
/** What of an error's response to change. */
export type ProblemResponse = {
  readonly status?: number | undefined;
  readonly headers?: HeaderList | undefined;
  /** Bytes and text as they are, anything else as JSON. */
  readonly body?: unknown;
};

/** What else is known when an error's response is made. */
export interface ProblemInfo {
  /** The key that the client sent, where it sent a valid one. */
  readonly key: string | undefined;
}
/** Changes an error's response, given the error and what would be sent without the function. */
export type ChangeProblem = (error: OncewardError, proposed: HttpResponse, info: ProblemInfo) => ProblemResponse;

/** How errors are told. */
export interface ProblemOptions {
  readonly statuses: Statuses;
  readonly documentation: string | undefined;
  readonly problem: ChangeProblem | undefined;
}

const utf8 = new TextEncoder();

/** The error as `application/problem+json` (RFC 9457), or undefined when it is not the client's to know. */
export function problemResponse(
  error: OncewardError,
  { statuses, documentation: own, problem: change }: ProblemOptions,
  key: string | undefined,
): HttpResponse | undefined {
  const problem = (problems as Partial<Record<ErrorCode, Problem>>)[error.code];
  if (!problem) return undefined;
  const { code, message, retryable, documentation: type } = error;
  const documentation = own ?? type;
  const { title, detail = message } = problem;
  const status = statuses[code as ProblemCode] ?? problem.status;
  const body = { type, title, status, detail, code, retryable, documentation };
  const headers: [string, string][] = [
    ["Content-Type", "application/problem+json"],
    ["Cache-Control", "no-store"],
    ["Link", `<${documentation}>; rel="describedby"`],
  ];
  if (retryable) headers.push(["Retry-After", String(Math.max(1, Math.ceil((error.retryAfterMs ?? 1_000) / 1_000)))]);
  const proposed = { status, headers, body: utf8.encode(JSON.stringify(body)) };
  return change ? changed(proposed, change(error, proposed, { key })) : proposed;
}

function changed(proposed: HttpResponse, { status, headers = [], body }: ProblemResponse): HttpResponse {
  const json = body !== undefined && typeof body !== "string" && !(body instanceof Uint8Array);
  const contentType: HeaderList = json ? [["Content-Type", "application/json"]] : [];
  return {
    status: status ?? proposed.status,
    headers: replaceHeaders(replaceHeaders(proposed.headers, contentType), headers),
    body: body === undefined ? proposed.body : toBytes(body),
  };
}

function toBytes(body: unknown): Uint8Array {
  if (body instanceof Uint8Array) return body;
  return utf8.encode(typeof body === "string" ? body : JSON.stringify(body));
}
