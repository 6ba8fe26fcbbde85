import type { Engine } from "../engine.ts";
import { InvalidOptionError, isOncewardError, KeyMissingError } from "../errors.ts";
import { asStoreError, type Operation } from "../execution.ts";
import { anyFingerprint } from "../fingerprint.ts";
import { recordId } from "../keys.ts";
import type { Policy } from "../options.ts";
import type { MaybePromise } from "../runtime.ts";
import { type ComparableBody, canonicalJson, comparableBody, sortedPairs } from "./body.ts";
import type { ResolvedHttpOptions } from "./options.ts";
import type { HttpRequestView } from "./view.ts";

/** Names the operation that a request asks for. */
export type Identify<Request> = (
  view: HttpRequestView<Request>,
  key: string | undefined,
  policy: Policy,
) => Promise<Operation>;

interface Scopes {
  readonly current: string | undefined;
  readonly former: readonly string[];
}

const sharedScope: Scopes = { current: undefined, former: [] };

/** Makes the function that names operations. */
export function createIdentify<Request>(
  { hash, options: { namespace, store } }: Engine,
  options: ResolvedHttpOptions<Request>,
  where: string,
): Identify<Request> {
  // What is there already is not awaited: that would cost each request a turn of the microtask queue for nothing.
  return async (view, received, policy) => {
    const scopes = scopesOf(view.request);
    const { current, former } = isPromise(scopes) ? await scopes : scopes;
    const body = options.fingerprint === true || received === undefined ? bodyOf(view) : undefined;
    const seen = isPromise(body) ? await body : body;
    const key = received ?? (await options.key?.derive(hash, view.request, seen as ComparableBody));
    if (key === undefined) {
      throw new KeyMissingError(
        `Send a key of your choice in the header ${options.headers[0]}, a new one for each operation and the same for its retries`,
      );
    }
    const fingerprint = fingerprintOf(view, seen);
    const asked = isPromise(fingerprint) ? await fingerprint : fingerprint;

    const operation = `${view.method} ${view.path()}`;
    const compared = policy.onReuse === "replay" ? anyFingerprint : asked;
    const separate = policy.onReuse === "separate" ? asked : undefined;
    const idIn = (scope: string | undefined) =>
      recordId(hash, { namespace, scope, operation, key, fingerprint: separate });
    try {
      for (const scope of former) {
        const id = await idIn(scope);
        if (await store.find(id)) return { id, operation, scope, key, fingerprint: compared };
      }
    } catch (cause) {
      const error = asStoreError(cause);
      // Failing open, the claim will meet the same outage, and say so.
      if (!policy.failOpen || !isOncewardError(error, "ERR_STORE_UNAVAILABLE")) throw error;
    }
    const id = idIn(current);
    return { id: isPromise(id) ? await id : id, operation, scope: current, key, fingerprint: compared };
  };

  function bodyOf(view: HttpRequestView<Request>): MaybePromise<ComparableBody> {
    const compare = (raw: Awaited<ReturnType<typeof view.body>>) =>
      comparableBody(raw, view.header("content-type")[0] ?? "");
    const body = view.body(options.maxBodyBytes);
    return isPromise(body) ? body.then(compare) : compare(body);
  }

  function fingerprintOf(view: HttpRequestView<Request>, body: ComparableBody | undefined): MaybePromise<string> {
    if (options.fingerprint === false) return anyFingerprint;
    if (options.fingerprint === true) {
      const { kind, content } = body as ComparableBody;
      return hash(["onceward:http", sortedPairs(view.query()), kind, content]);
    }
    const chosen = options.fingerprint(view.request);
    return isPromise(chosen) ? chosen.then(hashChosen) : hashChosen(chosen);
  }

  function hashChosen(chosen: unknown): MaybePromise<string> {
    if (chosen !== undefined) return hash(["onceward:chosen", canonicalJson(chosen)]);
    throw new InvalidOptionError(
      `${where}: fingerprint returned nothing; return what must be the same, or set it to false`,
    );
  }

  function scopesOf(request: Request): MaybePromise<Scopes> {
    // The shared scope is none at all: no function can return that.
    if (options.scope === "shared") return sharedScope;
    const scope: unknown = options.scope(request);
    return isPromise(scope) ? scope.then(checkScopes) : checkScopes(scope);
  }

  function checkScopes(scope: unknown): Scopes {
    const { current, former } = (typeof scope === "object" && scope !== null
      ? scope
      : { current: scope, former: sharedScope.former }) as unknown as { current: string; former: readonly string[] };
    if (isName(current) && Array.isArray(former) && former.every(isName)) return { current, former };
    throw new InvalidOptionError(
      `${where}: scope returned ${current === "" ? "an empty string" : typeof current}, not whose key it is. Authenticate before idempotency, or return a name for anonymous callers`,
    );
  }
}

/** Not by `instanceof`: an application's promises may be of a library's or another realm's making. */
function isPromise<Value>(value: MaybePromise<Value>): value is Promise<Value> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}

const isName = (name: unknown): boolean => typeof name === "string" && name !== "";
