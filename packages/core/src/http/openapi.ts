import {
  BodyTooLargeError,
  ClosedError,
  InProgressError,
  KeyInvalidError,
  KeyMissingError,
  KeyReusedError,
  type OncewardError,
  OutcomeNotKeptError,
  OutcomeUnknownError,
  StoreUnavailableError,
  TooManyWaitersError,
} from "../errors.ts";
import { groupHeaders } from "./headers.ts";
import { formats, type KeyFormat } from "./key.ts";
import type { HttpOptions, ResolvedHttpOptions } from "./options.ts";
import type { HttpResponse } from "./outcome.ts";
import { type ProblemCode, problemResponse, titleOf } from "./problem.ts";
import { resolveHttpOptions } from "./resolve-options.ts";

type Json = Readonly<Record<string, unknown>>;

/** A parameter of an OpenAPI 3.1 operation. */
export interface OpenapiParameter {
  readonly name: string;
  readonly in: "header";
  readonly required: boolean;
  readonly description: string;
  readonly schema: Json;
}

/** A header of an OpenAPI 3.1 response. */
export interface OpenapiHeader {
  readonly description: string;
  readonly schema: Json;
}

/** A response of an OpenAPI 3.1 operation. */
export interface OpenapiResponse {
  readonly description: string;
  readonly headers?: Readonly<Record<string, OpenapiHeader>> | undefined;
  readonly content: Readonly<Record<string, Json>>;
}

/** What idempotency adds to the description of an operation. */
export interface OpenapiIdempotency {
  /** For the operation's `parameters`. */
  readonly parameters: readonly OpenapiParameter[];
  /** For the `headers` of each response that is kept: replays have them. */
  readonly headers: Readonly<Record<string, OpenapiHeader>>;
  /** For the operation's `responses`: what idempotency itself answers, by status. */
  readonly responses: Readonly<Record<string, OpenapiResponse>>;
}

const problemSchema: Json = {
  type: "object",
  required: ["type", "title", "status", "detail", "code", "retryable"],
  properties: {
    type: { type: "string", format: "uri" },
    title: { type: "string" },
    status: { type: "integer" },
    detail: { type: "string" },
    code: { type: "string" },
    retryable: { type: "boolean" },
    documentation: { type: "string", format: "uri" },
  },
};

/**
 * Describes what idempotency with these options adds to a route, as parts of an OpenAPI 3.1 operation. Nothing for a
 * method that is not protected, so that it can be asked for every route. Error bodies are made by the options' own
 * `problem`, and shown as examples.
 */
export function openapiIdempotency<Request>(options: HttpOptions<Request> = {}, method = "POST"): OpenapiIdempotency {
  const resolved = resolveHttpOptions("openapiIdempotency", [{ scope: () => "any" }, options]);
  const upperCaseMethod = method.toUpperCase();
  if (!resolved.methods.has(upperCaseMethod)) return { parameters: [], headers: {}, responses: {} };
  const required = resolved.requiredFor.has(upperCaseMethod);
  return {
    parameters: [...keyParameters(options, resolved, required), ...ttlParameters(resolved)],
    headers: replayHeaders(resolved),
    responses: errorResponses(resolved, possibleErrors(resolved, required)),
  };
}

function keyParameters<Request>(
  { header = "Idempotency-Key" }: HttpOptions<Request>,
  { keyFormat, maxKeyLength, key }: ResolvedHttpOptions<Request>,
  required: boolean,
): OpenapiParameter[] {
  const names = typeof header === "string" ? [header] : header;
  const finite = Number.isFinite(maxKeyLength) ? { maxLength: maxKeyLength } : {};
  const description = [
    "The client's name for this operation: a new one for each, the same for its retries. Bare or as a quoted structured-field String.",
    names.length > 1 ? `One of ${names.join(", ")}.` : "",
    key ? "Without one, a key is derived from the payload." : "",
  ];
  return names.map((name) => ({
    name,
    in: "header",
    required: required && !key && names.length === 1,
    description: description.filter(Boolean).join(" "),
    schema: { type: "string", minLength: 1, ...finite, ...patternOf(keyFormat) },
  }));
}

function patternOf(format: KeyFormat): Json {
  if (format instanceof RegExp) return { pattern: `^(?:${format.source})$` };
  if (typeof format === "function" || format === "any") return {};
  // Patterns of a schema know no flags.
  return {
    pattern: formats[format].source.replaceAll("a-f", "a-fA-F"),
    ...(format === "urlsafe" ? {} : { format: "uuid" }),
  };
}

function ttlParameters<Request>({ ttlHeader }: ResolvedHttpOptions<Request>): OpenapiParameter[] {
  if (!ttlHeader) return [];
  const { name, minMs, maxMs } = ttlHeader;
  const description = "How long the outcome is replayed, in milliseconds.";
  return [
    { name, in: "header", required: false, description, schema: { type: "integer", minimum: minMs, maximum: maxMs } },
  ];
}

function replayHeaders<Request>({ replay }: ResolvedHttpOptions<Request>): Record<string, OpenapiHeader> {
  const { replayedHeader, keyHeader, originalTimeHeader, expiresHeader } = replay;
  const time = { type: "string", format: "date-time" };
  const described: [name: string | false | undefined, header: OpenapiHeader][] = [
    [replayedHeader, { description: "On a replay: true.", schema: { type: "string", const: "true" } }],
    [keyHeader, { description: "On a replay: the key as received.", schema: { type: "string" } }],
    [originalTimeHeader, { description: "On a replay: when the first request came.", schema: time }],
    [expiresHeader, { description: "On a replay: when the outcome expires.", schema: time }],
  ];
  return Object.fromEntries(described.filter(([name]) => name));
}

function possibleErrors<Request>(options: ResolvedHttpOptions<Request>, required: boolean): OncewardError[] {
  const { key, fingerprint, policy } = options;
  const rejectsReuse = fingerprint !== false && (policy.onReuse ?? "reject") === "reject";
  const retry = { retryAfterMs: 1_000 };
  const errors: (OncewardError | false)[] = [
    (required || key !== undefined) && new KeyMissingError("Send a key"),
    new KeyInvalidError("The key is not of the form that this server asks for"),
    new InProgressError("The first call with this key is still running; ask again for its outcome", retry),
    policy.takeover === false && new OutcomeUnknownError("A former attempt ended without a word"),
    (fingerprint === true || key !== undefined) && new BodyTooLargeError("The request's body is too large"),
    rejectsReuse && new KeyReusedError("This key was used before with another payload"),
    policy.waitMs !== 0 && new TooManyWaitersError("Too many duplicates of this key are waiting already", retry),
    policy.failOpen !== true && new StoreUnavailableError("The store can't be reached"),
    new ClosedError("The server is shutting down"),
    new OutcomeNotKeptError("The work was done before, but its outcome was not kept"),
  ];
  return errors.filter((error) => error !== false);
}

/** Several errors may share a status; each is an example of its own. */
function errorResponses<Request>(
  options: ResolvedHttpOptions<Request>,
  errors: readonly OncewardError[],
): Record<string, OpenapiResponse> {
  interface Draft {
    readonly reasons: Set<string>;
    readonly headers: Record<string, OpenapiHeader>;
    readonly content: Record<string, { schema: Json; examples: Record<string, Json> }>;
  }
  const drafts = new Map<number, Draft>();
  for (const error of errors) {
    const response = problemResponse(error, options, "a-key") as HttpResponse;
    const title = titleOf(error.code as ProblemCode);
    const draft = drafts.get(response.status) ?? { reasons: new Set(), headers: {}, content: {} };
    drafts.set(response.status, draft);
    draft.reasons.add(title);
    const headers = groupHeaders(response.headers);
    if (headers.has("retry-after"))
      draft.headers["Retry-After"] = { description: "Seconds until another try helps.", schema: { type: "integer" } };
    const type = headers.get("content-type")?.values[0] as string;
    const schema = type === "application/problem+json" ? problemSchema : {};
    const example = { summary: title, value: exampleOf(response.body) };
    draft.content[type] = { schema, examples: { ...draft.content[type]?.examples, [error.code]: example } };
  }
  return Object.fromEntries(
    [...drafts].map(([status, { reasons, headers, content }]) => [
      status,
      { description: [...reasons].join("; or: "), ...(Object.keys(headers).length > 0 ? { headers } : {}), content },
    ]),
  );
}

function exampleOf(body: Uint8Array): unknown {
  const text = new TextDecoder().decode(body);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
