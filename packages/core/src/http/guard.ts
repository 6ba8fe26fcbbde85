import { type Context, unprotectedContext } from "../context.ts";
import { InvalidOptionError, isOncewardError, KeyInvalidError } from "../errors.ts";
import type { Completion } from "../flight.ts";
import type { Onceward } from "../onceward.ts";
import { overridePolicy, type Policy } from "../options.ts";
import { createIdentify } from "./identify.ts";
import { type ReceivedKey, readKey } from "./key.ts";
import type { HttpOptions, ResolvedHttpOptions } from "./options.ts";
import type { HttpResponse } from "./outcome.ts";
import { problemResponse } from "./problem.ts";
import { HttpRecording } from "./recording.ts";
import { replayOf } from "./replay.ts";
import { resolveHttpOptions } from "./resolve-options.ts";
import { clientOf, type HttpRequestView } from "./view.ts";

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

/** A mark on the request: in a WeakSet, requests cost the collector more. */
const isProtected = Symbol("@onceward/core");
type Identity = object & { [isProtected]?: true };
const noValues: readonly string[] = [];

/** Makes a guard from layers of options: the app's, then the route's. They are checked here. */
export function httpGuard<Request>(
  once: Onceward,
  where: string,
  ...layers: readonly (HttpOptions<Request> | undefined)[]
): HttpGuard<Request> {
  if (typeof once?.engine?.enter !== "function")
    throw new InvalidOptionError(`${where} takes what onceward({ store }) returns as its first argument`);
  const options = resolveHttpOptions(
    where,
    layers.map((layer = {}) => layer),
  );
  const { engine } = once;
  const routePolicy = overridePolicy(engine.options.policy, options.policy);
  const identify = createIdentify(engine, options, where);

  async function decide(view: HttpRequestView<Request>, values: readonly string[]): Promise<HttpDecision> {
    const requestedAt = Date.now();
    const client = clientOf(view);
    let received: ReceivedKey | undefined;
    try {
      received = readKey(values, options.keyFormat, options.maxKeyLength);
      const policy = policyOf(view);
      const operation = await identify(view, received?.key, policy);
      if ((view.identity as Identity)[isProtected]) {
        throw new InvalidOptionError(
          `${where} was called on a request that is protected already, and would wait for itself. Protect each route once`,
        );
      }
      const before = view.responseHeaders();
      const entry = await engine.enter(operation, policy, client);
      const replay = (completion: Completion) => replayOf(options, completion, operation.key, received?.received);
      if (entry.kind === "replay") {
        const response = await replay(entry);
        return { kind: "answer", context: unprotectedContext(operation.key), response, replayed: true };
      }
      (view.identity as Identity)[isProtected] = true;
      const { execution } = entry;
      const recording = new HttpRecording({ engine, execution, options, before, requestedAt, replay });
      const known = execution.takenOver ? await reconciled(view.request, recording) : undefined;
      if (known) return { kind: "answer", context: execution.context, response: known, replayed: false };
      return { kind: "run", context: execution.context, recording };
    } catch (error) {
      if (client?.aborted && error === (view.signal as AbortSignal).reason) return { kind: "gone" };
      const response = isOncewardError(error) ? problemResponse(error, options, received?.key) : undefined;
      if (!response) throw error;
      return { kind: "answer", context: unprotectedContext(received?.key), response, replayed: false };
    }
  }

  /** The response of an operation whose former runner died, where the application can find out. */
  async function reconciled(request: Request, recording: HttpRecording): Promise<HttpResponse | undefined> {
    let response: HttpResponse | undefined;
    try {
      response = await options.reconcile?.(request, recording.context);
    } catch (error) {
      // Still nobody knows whether the work was done, so it must not look as if it had merely failed.
      await recording.abandon();
      throw error;
    }
    if (!response) return undefined;
    recording.write(response.body);
    return (await recording.finish(response.status, response.headers)) ?? response;
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
      if (options.skip?.(view.request)) return undefined;
      return decide(view, values);
    },
  };
}
