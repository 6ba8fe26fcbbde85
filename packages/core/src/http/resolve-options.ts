import { InvalidOptionError } from "../errors.ts";
import { type Check, checkOptions, count, durationMs, flag, functionOr, policyChecks, text } from "../options.ts";
import type { DerivedKey } from "./derived-key.ts";
import { keepSuccess } from "./keep.ts";
import type { HttpOptions, ReplayOptions, ResolvedHttpOptions, TtlHeaderOptions } from "./options.ts";
import { problemCodes } from "./problem.ts";

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const headerName: Check = (value) =>
  typeof value === "string" && token.test(value) ? undefined : "the name of a header";
/** A list of at least one, each of which the check allows. */
export const listOf =
  (check: Check, what: string): Check =>
  (value) =>
    Array.isArray(value) && value.length > 0 && value.every((item) => !check(item)) ? undefined : what;
const or =
  (...checks: readonly Check[]): Check =>
  (value) => {
    const found = checks.map((check) => check(value));
    return found.includes(undefined) ? undefined : found.join(", or ");
  };
const no: Check = (value) => (value === false ? undefined : "false");
// It becomes a header.
const url: Check = (value) =>
  typeof value === "string" && /^[!-~]+$/.test(value) && !/[<>"]/.test(value) ? undefined : "a URL";
const anObject: Check = (value) => (typeof value === "object" && value !== null ? undefined : "an object");
const onlyFunction = functionOr(() => "nothing else");
const status: Check = (value) =>
  Number.isInteger(value) && (value as number) >= 200 && (value as number) <= 599 ? undefined : "a status, 200 to 599";

const { missingKey, keepErrors, ...httpPolicyChecks } = policyChecks;
const httpChecks = {
  ...httpPolicyChecks,
  scope: functionOr((value) => (value === "shared" ? undefined : '"shared"')),
  header: or(headerName, listOf(headerName, "a list of them")),
  keyFormat: (value) =>
    ["any", "urlsafe", "uuid", "uuidv4"].includes(value as string) || value instanceof RegExp || !onlyFunction(value)
      ? undefined
      : '"any", "urlsafe", "uuid", "uuidv4", a RegExp or a function',
  maxKeyLength: count,
  key: (value) =>
    value === false || (value as DerivedKey<unknown> | null)?.derive ? undefined : "made by derivedKey(...), or false",
  required: or(flag, listOf(text, "a list of HTTP methods")),
  methods: listOf(text, "a list of HTTP methods"),
  skip: onlyFunction,
  fingerprint: functionOr(flag),
  reconcile: onlyFunction,
  keep: onlyFunction,
  keepHeaders: onlyFunction,
  replay: anObject,
  transformReplay: onlyFunction,
  ttlHeader: or(flag, anObject),
  documentation: url,
  statuses: anObject,
  problem: onlyFunction,
  maxBodyBytes: count,
} satisfies Record<keyof HttpOptions<unknown>, Check>;

const replayChecks = {
  replayedHeader: or(headerName, no),
  keyHeader: or(headerName, no),
  originalTimeHeader: or(headerName, no),
  expiresHeader: or(headerName, no),
  status,
} satisfies Record<keyof ReplayOptions, Check>;

const statusChecks = Object.fromEntries(problemCodes.map((code) => [code, status]));

/**
 * Options in, complete options out. What a later layer sets, replaces what an earlier one set (`replay` and `statuses`
 * member by member).
 * @param where - names the function in errors, as users write it.
 */
export function resolveHttpOptions<Request>(
  where: string,
  layers: readonly HttpOptions<Request>[],
): ResolvedHttpOptions<Request> {
  const given: HttpOptions<Request> = {};
  for (const layer of layers) {
    checkOptions(where, layer, httpChecks);
    if (layer.replay) checkOptions(`${where}: replay`, layer.replay, replayChecks);
    if (layer.statuses) checkOptions(`${where}: statuses`, layer.statuses, statusChecks);
    const replay = { ...given.replay, ...present(layer.replay ?? {}) };
    const statuses = { ...given.statuses, ...present(layer.statuses ?? {}) };
    Object.assign(given, present(layer), { replay, statuses });
  }
  const { scope, header = "Idempotency-Key", keyFormat = "any", maxKeyLength = 255, required = false } = given;
  const { fingerprint = true, keep = keepSuccess, keepHeaders, replay, transformReplay } = given;
  const key = given.key || undefined;
  const { ttlHeader, statuses = {}, documentation, problem, maxBodyBytes = 1_048_576 } = given;
  if (scope === undefined) {
    throw new InvalidOptionError(
      `${where}: scope is required: a function that says whose key it is, such as (request) => request.user.id, or "shared" if all callers share their keys`,
    );
  }
  if (scope === "shared" && key && !key.hasContext) {
    throw new InvalidOptionError(
      `${where}: derivedKey with scope "shared" would give every caller's equal payload one key; give derivedKey a context, or a scope`,
    );
  }
  const keyHeaders = typeof header === "string" ? [header] : header;
  const methods = upperCase(given.methods ?? ["POST", "PATCH"]);
  const requiredFor = required === true ? methods : upperCase(required || []);
  for (const method of requiredFor) {
    if (!methods.has(method))
      throw new InvalidOptionError(`${where}: required names ${method}, which is not among the methods`);
  }
  return {
    scope,
    headers: keyHeaders.map((name) => name.toLowerCase()),
    keyFormat,
    maxKeyLength,
    key,
    requiredFor,
    methods,
    skip: given.skip,
    fingerprint,
    reconcile: given.reconcile,
    keep,
    keepHeaders,
    replay: {
      replayedHeader: replay?.replayedHeader ?? "Idempotent-Replayed",
      keyHeader: replay?.keyHeader ?? keyHeaders[0],
      originalTimeHeader: replay?.originalTimeHeader ?? "X-Original-Request-Time",
      expiresHeader: replay?.expiresHeader ?? "X-Idempotent-Expires",
      status: replay?.status,
    },
    transformReplay,
    ttlHeader: ttlHeader ? resolveTtlHeader(where, ttlHeader === true ? {} : ttlHeader) : undefined,
    statuses,
    documentation,
    problem,
    maxBodyBytes,
    policy: Object.fromEntries(Object.entries(given).filter(([name]) => name in httpPolicyChecks)),
  };
}

function resolveTtlHeader(where: string, options: TtlHeaderOptions) {
  checkOptions(`${where}: ttlHeader`, options, { name: headerName, minMs: durationMs, maxMs: durationMs });
  const { name = "X-Idempotency-TTL", minMs = 1_000, maxMs = 7 * 24 * 3_600_000 } = options;
  if (minMs > maxMs) throw new InvalidOptionError(`${where}: ttlHeader: minMs must not be more than maxMs`);
  return { name: name.toLowerCase(), minMs, maxMs };
}

const upperCase = (methods: readonly string[]) => new Set(methods.map((method) => method.toUpperCase()));

/** Without what is undefined: that means absent, not "back to the default". */
function present(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
