import type { Context } from "../context.ts";
import type { Policy, PolicyOptions } from "../options.ts";
import type { MaybePromise } from "../runtime.ts";
import type { DerivedKey } from "./derived-key.ts";
import type { KeepHeader } from "./headers.ts";
import type { Keep } from "./keep.ts";
import type { KeyFormat } from "./key.ts";
import type { HttpResponse } from "./outcome.ts";
import type { ChangeProblem, Statuses } from "./problem.ts";

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
  /**
   * Asked instead of the handler when a former runner died: finds out whether it did the work. Return the response, or
   * undefined when the work was not done and the handler shall run now. Default: the handler runs.
   */
  readonly reconcile?: ((request: Request, context: Context) => MaybePromise<HttpResponse | undefined>) | undefined;
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
  readonly reconcile: HttpOptions<Request>["reconcile"];
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
