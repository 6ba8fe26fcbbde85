import { type Context, unprotectedContext } from "../context.ts";
import { InvalidOptionError, isOncewardError, KeyInvalidError, KeyMissingError } from "../errors.ts";
import { asStoreError, type Operation } from "../execution.ts";
import { anyFingerprint, fingerprint } from "../fingerprint.ts";
import type { Completion } from "../flight.ts";
import { recordId } from "../keys.ts";
import type { Onceward } from "../onceward.ts";
import { overridePolicy, type Policy } from "../options.ts";
import type { MaybePromise } from "../runtime.ts";
import { type ComparableBody, comparableBody, type HttpBody, sortedPairs } from "./body.ts";
import type { HeaderList } from "./headers.ts";
import { type ReceivedKey, readKey } from "./key.ts";
import { type HttpOptions, type ResolvedHttpOptions, resolveHttpOptions } from "./options.ts";
import type { HttpResponse } from "./outcome.ts";
import { problemResponse } from "./problem.ts";
import { HttpRecording } from "./recording.ts";
import { replayOf } from "./replay.ts";

/** A request as core sees it. Bindings answer lazily: an unprotected request is asked for its method and one header. */
export interface HttpRequestView<Request> {
  /** The framework's own request, for functions among the options. */
  readonly request: Request;
  /** The object that stands for this request whatever wraps it, so that protecting it twice is noticed. */
  readonly identity: object;
  readonly method: string;
  /** The full path, without the query, never relative to a router. */
  readonly path: () => string;
  /** Without the question mark. */
  readonly query: () => string;
  /** The header's lines, by lower-case name; joined by commas where the framework does that. */
  readonly header: (name: string) => readonly string[];
  /** The body, which stays readable for the handler. Rejects with `BodyTooLargeError` past the limit. */
  readonly body: (maxBytes: number) => MaybePromise<HttpBody>;
  /** Headers that are on the response already. */
  readonly responseHeaders: () => HeaderList;
  /** Aborts when the client goes away: the request then stops waiting. */
  readonly signal?: AbortSignal | undefined;
}

/** What a binding is to do. */
export type HttpDecision =
  /** Let the handler run, and tell the recording of its response. */
  | { readonly kind: "run"; readonly context: Context; readonly recording: HttpRecording }
  /** Send this instead: a replay, or an error. Headers that it names replace those on the response. */
  | { readonly kind: "answer"; readonly context: Context; readonly response: HttpResponse; readonly replayed: boolean }
  /** The client went away while it waited. */
  | { readonly kind: "gone" };

/** Decides on requests: the one place where HTTP semantics live. */
export interface HttpGuard<Request> {
  readonly options: ResolvedHttpOptions<Request>;
  /** Undefined when nothing protects the request: decided at once, without hashing, store or body. */
  enter(view: HttpRequestView<Request>): Promise<HttpDecision> | undefined;
}

const protectedRequests = new WeakSet<object>();
const noValues: readonly string[] = [];

/** Makes a guard from layers of options: the app's, then the route's. They are checked here. */
export function httpGuard<Request>(
  once: Onceward,
  where: string,
  ...layers: readonly HttpOptions<Request>[]
): HttpGuard<Request> {
  if (typeof once?.engine?.enter !== "function")
    throw new InvalidOptionError(`${where} takes what onceward({ store }) returns as its first argument`);
  const options = resolveHttpOptions(where, layers);
  const { engine } = once;
  const routePolicy = overridePolicy(engine.options.policy, options.policy);

  async function decide(view: HttpRequestView<Request>, values: readonly string[]): Promise<HttpDecision> {
    const requestedAt = Date.now();
    let received: ReceivedKey | undefined;
    try {
      received = readKey(values, options.keyFormat, options.maxKeyLength);
      const policy = policyOf(view);
      const operation = await identify(view, received, policy);
      if (protectedRequests.has(view.identity)) {
        throw new InvalidOptionError(
          `${where} was called on a request that is protected already, and would wait for itself. Protect each route once`,
        );
      }
      const before = view.responseHeaders();
      const entry = await engine.enter(operation, policy, view.signal);
      const replay = (completion: Completion) => replayOf(options, completion, operation.key, received?.received);
      if (entry.kind === "replay") {
        const response = await replay(entry);
        return { kind: "answer", context: unprotectedContext(operation.key), response, replayed: true };
      }
      protectedRequests.add(view.identity);
      const { execution } = entry;
      const recording = new HttpRecording({ engine, execution, options, before, requestedAt, replay });
      return { kind: "run", context: execution.context, recording };
    } catch (error) {
      if (view.signal?.aborted && error === view.signal.reason) return { kind: "gone" };
      const response = isOncewardError(error) ? problemResponse(error, options, received?.key) : undefined;
      if (!response) throw error;
      return { kind: "answer", context: unprotectedContext(received?.key), response, replayed: false };
    }
  }

  function policyOf(view: HttpRequestView<Request>): Policy {
    const { ttlHeader } = options;
    const [value, ...more] = ttlHeader ? view.header(ttlHeader.name) : noValues;
    if (!ttlHeader || value === undefined) return routePolicy;
    const ttlMs = Number(value);
    if (more.length > 0 || !/^\d{1,15}$/.test(value) || ttlMs < ttlHeader.minMs || ttlMs > ttlHeader.maxMs) {
      throw new KeyInvalidError(
        `${ttlHeader.name} must be a whole number of milliseconds from ${ttlHeader.minMs} to ${ttlHeader.maxMs}`,
      );
    }
    return { ...routePolicy, ttlMs };
  }

  async function identify(
    view: HttpRequestView<Request>,
    received: ReceivedKey | undefined,
    policy: Policy,
  ): Promise<Operation> {
    const { current, former } = await scopeOf(view.request);
    let body: Promise<ComparableBody> | undefined;
    const seen = () => {
      body ??= Promise.resolve(view.body(options.maxBodyBytes)).then((raw) =>
        comparableBody(raw, view.header("content-type")[0] ?? ""),
      );
      return body;
    };
    const key = received?.key ?? (await options.key?.derive(engine.hash, view.request, await seen()));
    if (key === undefined) {
      throw new KeyMissingError(
        `Send a key of your choice in the header ${options.headers[0]}, a new one for each operation and the same for its retries`,
      );
    }
    const asked = await fingerprintOf(view, seen);
    const operation = `${view.method} ${view.path()}`;
    const separate = policy.onReuse === "separate" ? asked : undefined;
    const { namespace, store } = engine.options;
    const idIn = (scope: string | undefined) =>
      recordId(engine.hash, { namespace, scope, operation, key, fingerprint: separate });
    const named = { operation, key, fingerprint: policy.onReuse === "replay" ? anyFingerprint : asked };
    try {
      for (const scope of former) {
        const id = await idIn(scope);
        if (await store.find(id)) return { ...named, id, scope };
      }
    } catch (error) {
      // The claim will fail too, and say so.
      if (!policy.failOpen || !isOncewardError(asStoreError(error), "ERR_STORE_UNAVAILABLE")) throw asStoreError(error);
    }
    return { ...named, id: await idIn(current), scope: current };
  }

  async function fingerprintOf(view: HttpRequestView<Request>, seen: () => Promise<ComparableBody>): Promise<string> {
    if (options.fingerprint === false) return anyFingerprint;
    if (options.fingerprint !== true) return fingerprint(engine.hash, await options.fingerprint(view.request));
    const body = await seen();
    return engine.hash(["onceward:http", sortedPairs(view.query()), body.kind, body.content]);
  }

  /** The shared scope is none at all: no function can return that. */
  async function scopeOf(request: Request): Promise<{ current: string | undefined; former: readonly string[] }> {
    if (options.scope === "shared") return { current: undefined, former: noValues };
    const scope: unknown = await options.scope(request);
    const { current, former } = (
      typeof scope === "object" && scope !== null ? scope : { current: scope, former: noValues }
    ) as { current: string; former: readonly string[] };
    const names = Array.isArray(former) ? [current, ...(former as readonly string[])] : [undefined];
    if (names.every((name) => typeof name === "string" && name !== "")) return { current, former };
    throw new InvalidOptionError(
      `${where}: scope returned ${current === "" ? "an empty string" : typeof current}, not whose key it is. Authenticate before idempotency, or return a name for anonymous callers`,
    );
  }

  return {
    options,
    enter(view) {
      if (!options.methods.has(view.method)) return undefined;
      let values = noValues;
      for (const name of options.headers) {
        const lines = view.header(name);
        // Frameworks that don't join repeated headers get the same answer as those that do.
        if (lines.length > 0) values = [...values, lines.join(", ")];
      }
      if (values.length === 0 && !options.key && !options.requiredFor.has(view.method)) return undefined;
      return decide(view, values);
    },
  };
}
