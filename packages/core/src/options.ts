import type { Codec } from "./codec.ts";
import { InvalidOptionError } from "./errors.ts";
import { asyncContextIsFree } from "./runtime.ts";
import type { Store } from "./store.ts";

/** What can be set for everything, and again for one call. */
export interface Policy {
  /** How long an outcome is replayed, from its completion. Default: 24 hours. */
  readonly ttlMs: number;
  /** How long after a crash the next attempt may take over. Renewed while the work runs. Default: 10 seconds. */
  readonly leaseMs: number;
  /** How long an unfinished record is remembered. Default: `ttlMs`. */
  readonly retainMs: number | undefined;
  /** How long the lease of running work is renewed at most. Default: 15 minutes. */
  readonly maxRunMs: number;
  /** How long a duplicate waits for the running call; 0 rejects at once. Default: 30 seconds. */
  readonly waitMs: number;
  /** How many duplicates of one key may wait in this process. Default: 100. */
  readonly maxWaiters: number;
  /**
   * How often a waiter asks again, with jitter. Default: 5 seconds beside a store that pushes, where asking only backs
   * the push up, and 250 milliseconds elsewhere.
   */
  readonly pollMs: number | undefined;
  /** Whether concurrent duplicates in this process share one call. Turn it off where requests can't share I/O. Default: true. */
  readonly join: boolean;
  /**
   * What another payload under a used key means: a client's bug to `reject`, nothing (`replay` the first outcome all the
   * same), or a `separate` operation. Default: `reject`.
   */
  readonly onReuse: "reject" | "replay" | "separate";
  /** Whether the next attempt runs when a former runner died. If not, it is rejected as "outcome unknown". Default: true. */
  readonly takeover: boolean;
  /** Whether to run without protection when the store can't be reached. May run completed work again. Default: false. */
  readonly failOpen: boolean;
  /** Whether what the work throws is kept and replayed, instead of letting the next attempt run. Default: false. */
  readonly keepErrors: boolean | ((error: unknown) => boolean);
  /** What is larger is not kept; duplicates are told so and nothing runs twice. Default: 1 MiB. */
  readonly maxOutcomeBytes: number;
  /** How long the caller is kept waiting for the store to confirm the outcome. Default: 1 second. */
  readonly completeWaitMs: number;
  /** What a call without a key means: `run` it unprotected, `reject` it, or `derive` the key from the payload. Default: `run`. */
  readonly missingKey: "run" | "reject" | "derive";
}

/** Any part of a {@link Policy}; `undefined` means absent. */
export type PolicyOptions = { readonly [Name in keyof Policy]?: Policy[Name] | undefined };

/** Options of `onceward`. */
export interface OncewardOptions extends PolicyOptions {
  /** Where records are kept. */
  readonly store: Store;
  /** Separates applications that share a store. Default: `default`. */
  readonly namespace?: string | undefined;
  /** Transforms outcomes and steps on their way to and from the store, for example `aesGcmCodec`. */
  readonly codec?: Codec | undefined;
  /** How often a store without expiry of its own is swept; 0 turns it off. Default: 1 minute. */
  readonly sweepIntervalMs?: number | undefined;
  /**
   * Whether a `run` inside its own work is rejected at once, instead of waiting for itself until `waitMs` are over. It
   * needs `AsyncLocalStorage`, which before Node 24 makes every promise of the process dearer: a new request on Redis
   * takes a fifth more CPU with it. Default: true on Node 24 and later, else false.
   */
  readonly detectNesting?: boolean | undefined;
}

/** All of {@link OncewardOptions}, with every default filled in. */
export interface ResolvedOptions {
  readonly store: Store;
  readonly namespace: string;
  readonly codec: Codec | undefined;
  readonly sweepIntervalMs: number;
  readonly detectNesting: boolean;
  readonly policy: Policy;
}

/** Says what is wrong with a value, or nothing. */
export type Check = (value: unknown) => string | undefined;

const maxDurationMs = 100 * 365 * 24 * 3_600_000;

/** A whole number of milliseconds that is not 0. */
export const durationMs: Check = (value) =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= maxDurationMs
    ? undefined
    : "a whole number of milliseconds, at least 1 and at most 100 years";
/** The same, or 0. */
export const durationOrZeroMs: Check = (value) =>
  value === 0 ? undefined : durationMs(value) && `0, or ${durationMs(value)}`;
/** How many, at least one. */
export const count: Check = (value) =>
  value === Number.POSITIVE_INFINITY || (Number.isInteger(value) && (value as number) >= 1)
    ? undefined
    : "a whole number of at least 1, or Infinity";
/** The same, or 0. */
export const countOrZero: Check = (value) => (value === 0 ? undefined : count(value) && "a whole number, or Infinity");
/** True or false. */
export const flag: Check = (value) => (typeof value === "boolean" ? undefined : "true or false");
/** Text that is not empty. */
export const text: Check = (value) =>
  typeof value === "string" && value.length > 0 ? undefined : "a non-empty string";
/** One of a few words. */
export const oneOf =
  (...words: readonly string[]): Check =>
  (value) =>
    words.includes(value as string) ? undefined : `one of ${words.map((word) => `"${word}"`).join(", ")}`;
/** A function, or what another check allows. */
export const functionOr =
  (check: Check): Check =>
  (value) =>
    typeof value === "function" ? undefined : check(value) && `a function, or ${check(value)}`;
/** Has these methods. */
export const withMethods =
  (what: string, ...methods: readonly string[]): Check =>
  (value) =>
    methods.every((method) => typeof (value as Record<string, unknown> | null | undefined)?.[method] === "function")
      ? undefined
      : what;

/**
 * Throws unless every option is known and has a value that can work. `undefined` means absent.
 * @param where - names the function in the error, as its users write it.
 */
export function checkOptions(where: string, options: unknown, checks: Readonly<Record<string, Check>>): void {
  if (typeof options !== "object" || options === null) {
    throw new InvalidOptionError(
      `${where} takes an object of options, not ${options === null ? "null" : typeof options}`,
    );
  }
  for (const name of Object.keys(options)) {
    const value = (options as Record<string, unknown>)[name];
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (!check) {
      throw new InvalidOptionError(`${where} has no option "${name}"; it has ${Object.keys(checks).join(", ")}`);
    }
    const expected = value === undefined ? undefined : check(value);
    if (expected) throw new InvalidOptionError(`${where}: ${name} must be ${expected}; it is ${describe(value)}`);
  }
}

function describe(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  // The source of a function would bury the message.
  if (typeof value === "function") return "a function";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** Of each policy option, what it must be. */
export const policyChecks = {
  ttlMs: durationMs,
  leaseMs: durationMs,
  retainMs: durationMs,
  maxRunMs: durationMs,
  waitMs: durationOrZeroMs,
  maxWaiters: countOrZero,
  pollMs: durationMs,
  join: flag,
  onReuse: oneOf("reject", "replay", "separate"),
  takeover: flag,
  failOpen: flag,
  keepErrors: functionOr(flag),
  maxOutcomeBytes: countOrZero,
  completeWaitMs: durationOrZeroMs,
  missingKey: oneOf("run", "reject", "derive"),
} satisfies Record<keyof Policy, Check>;

const storeCheck = withMethods(
  "a store, such as memoryStore() from @onceward/store-memory",
  "claim",
  "complete",
  "release",
  "renew",
  "saveStep",
  "find",
  "remove",
  "ping",
  "close",
);

const codecMethods = withMethods(
  "a codec with encode, decode and hmacSecret, such as aesGcmCodec(...)",
  "encode",
  "decode",
);
// Without the secret, ids and fingerprints would quietly be hashes that can be guessed.
const codecCheck: Check = (value) =>
  (value as Partial<Codec> | null)?.hmacSecret instanceof Uint8Array ? codecMethods(value) : codecMethods(undefined);

const defaults = {
  ttlMs: 24 * 3_600_000,
  leaseMs: 10_000,
  retainMs: undefined,
  maxRunMs: 15 * 60_000,
  waitMs: 30_000,
  maxWaiters: 100,
  pollMs: undefined,
  join: true,
  onReuse: "reject",
  takeover: true,
  failOpen: false,
  keepErrors: false,
  maxOutcomeBytes: 1_048_576,
  completeWaitMs: 1_000,
  missingKey: "run",
} as const satisfies Policy;

/** Options in, complete options out: the only place with defaults. */
export function resolveOptions(options: OncewardOptions): ResolvedOptions {
  checkOptions("onceward", options, {
    store: storeCheck,
    namespace: text,
    codec: codecCheck,
    sweepIntervalMs: durationOrZeroMs,
    detectNesting: flag,
    ...policyChecks,
  });
  const {
    store,
    namespace = "default",
    codec,
    sweepIntervalMs = 60_000,
    detectNesting = asyncContextIsFree,
    ...policy
  } = options;
  if (!store)
    throw new InvalidOptionError("onceward: store is required, for example memoryStore() from @onceward/store-memory");
  return { store, namespace, codec, sweepIntervalMs, detectNesting, policy: overridePolicy(defaults, policy) };
}

/** The policy with what is set in `overrides`, among other options perhaps; the caller has checked them. */
export function overridePolicy(policy: Policy, overrides: PolicyOptions): Policy {
  let changed: Record<string, unknown> | undefined;
  for (const name of Object.keys(overrides) as (keyof Policy)[]) {
    if (overrides[name] === undefined || !Object.hasOwn(policyChecks, name)) continue;
    changed ??= { ...policy };
    changed[name] = overrides[name];
  }
  return (changed as Policy | undefined) ?? policy;
}
