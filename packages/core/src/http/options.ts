import { InvalidOptionError } from "../errors.ts";
import {
  type Check,
  checkOptions,
  count,
  durationMs,
  flag,
  functionOr,
  type Policy,
  type PolicyOptions,
  policyChecks,
  text,
} from "../options.ts";
import type { MaybePromise } from "../runtime.ts";
import type { DerivedKey } from "./derived-key.ts";
import type { KeepHeader } from "./headers.ts";
import { type Keep, keepSuccess } from "./keep.ts";
import type { KeyFormat } from "./key.ts";
import type { HttpResponse } from "./outcome.ts";
import { type ChangeProblem, problemCodes, type Statuses } from "./problem.ts";

/** Whose keys they are. Former scopes are looked up first: for a visitor who signs in between two tries. */
export type Scope = string | { readonly current: string; readonly former: readonly string[] };

/** Names of the headers that mark a replay; `false` leaves one out. */
export interface ReplayOptions {
  /** Says `true` on a replay. Default: `Idempotent-Replayed`. */
  readonly replayedHeader?: string | false | undefined;
  /** Echoes the key as received. Default: `Idempotency-Key`. */
  readonly keyHeader?: string | false | undefined;
  /** When the first request came, as ISO 8601. Default: `X-Original-Request-Time`. */
  readonly originalTimeHeader?: string | false | undefined;
  /** When the outcome expires, as ISO 8601. Default: `X-Idempotent-Expires`. */
  readonly expiresHeader?: string | false | undefined;
  /** Replays have this status where the first response had a 2xx one; redirects and errors stay what they are. */
  readonly status?: number | undefined;
}

/** What `transformReplay` gets to know. */
export interface ReplayInfo {
  readonly key: string;
  readonly requestedAt: Date;
  readonly completedAt: Date;
  readonly expiresAt: Date;
}

/** Lets a request choose its own TTL. */
export interface TtlHeaderOptions {
  /** Carries milliseconds. Default: `X-Idempotency-TTL`. */
  readonly name?: string | undefined;
  /** Default: 1 second. */
  readonly minMs?: number | undefined;
  /** Default: 7 days. */
  readonly maxMs?: number | undefined;
}

/** How idempotency behaves over HTTP: for an app, and again for a route. Functions get the framework's request. */
export interface HttpOptions<Request> extends Omit<PolicyOptions, "missingKey" | "keepErrors"> {
  /** Whose keys they are; `"shared"` when all callers share them. Required. */
  readonly scope?: "shared" | ((request: Request) => MaybePromise<Scope>) | undefined;
  /** Header, or headers, that carry the key. Default: `Idempotency-Key`. */
  readonly header?: string | readonly string[] | undefined;
  /** Default: `any`. */
  readonly keyFormat?: KeyFormat | undefined;
  /** Default: 255 characters. */
  readonly maxKeyLength?: number | undefined;
  /** Makes a key when the client sends none: see `derivedKey`. Default: false, none is made. */
  readonly key?: DerivedKey<Request> | false | undefined;
  /** Whether a request without a key is rejected, or for which methods. Default: false, it runs unprotected. */
  readonly required?: boolean | readonly string[] | undefined;
  /** Methods that are protected. Default: POST and PATCH. */
  readonly methods?: readonly string[] | undefined;
  /** Leaves a request alone that would be protected, as if it had no key. Default: none. */
  readonly skip?: ((request: Request) => boolean) | undefined;
  /** What must be the same in a duplicate, as plain data; `false` for nothing. Default: true, query and body. */
  readonly fingerprint?: boolean | ((request: Request) => unknown) | undefined;
  /** Which responses are kept. Default: `keepSuccess`. */
  readonly keep?: Keep | undefined;
  /** Which headers are kept, over the default policy. */
  readonly keepHeaders?: KeepHeader | undefined;
  readonly replay?: ReplayOptions | undefined;
  /** Changes a replay before it is sent. */
  readonly transformReplay?: ((response: HttpResponse, info: ReplayInfo) => MaybePromise<HttpResponse>) | undefined;
  /** Whether a request may choose its TTL, within bounds. Default: false. */
  readonly ttlHeader?: boolean | TtlHeaderOptions | undefined;
  /** The page with your own policy, which errors link to. Default: a page of Onceward's that explains the error. */
  readonly documentation?: string | undefined;
  /** Other statuses for errors. */
  readonly statuses?: Statuses | undefined;
  /** Another body or other headers for an error; what it leaves out stays as it is. */
  readonly problem?: ChangeProblem | undefined;
  /** How much of a request's body is read to compare it, where no parser has done so. Default: 1 MiB. */
  readonly maxBodyBytes?: number | undefined;
}

/** All of {@link HttpOptions}, with every default filled in. */
export interface ResolvedHttpOptions<Request> {
  readonly scope: "shared" | ((request: Request) => MaybePromise<Scope>);
  readonly headers: readonly string[];
  readonly keyFormat: KeyFormat;
  readonly maxKeyLength: number;
  readonly key: DerivedKey<Request> | undefined;
  readonly requiredFor: ReadonlySet<string>;
  readonly methods: ReadonlySet<string>;
  readonly skip: HttpOptions<Request>["skip"];
  readonly fingerprint: boolean | ((request: Request) => unknown);
  readonly keep: Keep;
  readonly keepHeaders: KeepHeader | undefined;
  readonly replay: { readonly [Name in keyof ReplayOptions]-?: NonNullable<ReplayOptions[Name]> | undefined };
  readonly transformReplay: HttpOptions<Request>["transformReplay"];
  readonly ttlHeader: { readonly name: string; readonly minMs: number; readonly maxMs: number } | undefined;
  readonly statuses: Statuses;
  readonly documentation: string | undefined;
  readonly problem: HttpOptions<Request>["problem"];
  readonly maxBodyBytes: number;
  readonly policy: Partial<Policy>;
}

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
