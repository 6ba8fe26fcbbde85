import {
  type HttpDecision,
  type HttpOptions,
  httpGuard,
  type Context as Idempotency,
  type Onceward,
  unprotectedContext,
} from "@onceward/core";
import type { Context, MiddlewareHandler, Next } from "hono";
import { viewOf } from "./request.ts";
import { answerOf, headersOf, recorded } from "./response.ts";

/** What handlers find in `c.get("idempotency")`. */
export interface IdempotencyVariables {
  idempotency: Idempotency;
}

declare module "hono" {
  interface ContextVariableMap extends IdempotencyVariables {}
}

/** Options of {@link idempotency}; their functions get Hono's `Context`. */
export type IdempotencyOptions = HttpOptions<Context>;

function middleware(once: Onceward, layers: readonly IdempotencyOptions[]): MiddlewareHandler {
  const guard = httpGuard<Context>(once, "idempotency", ...layers);

  return (c, next) => {
    const deciding = guard.enter(viewOf(c));
    if (deciding)
      return waitUntil(
        c,
        deciding.then((decision) => act(c, next, decision)),
      );
    // An outer `idempotency` that protects the request must not be hidden by an inner one that doesn't.
    if (!c.get("idempotency")) c.set("idempotency", unprotectedContext());
    return next() as Promise<undefined>;
  };
}

async function act(c: Context, next: Next, decision: HttpDecision): Promise<Response | undefined> {
  if (decision.kind === "gone") return new Response(null, { status: 499 });
  c.set("idempotency", decision.context);
  if (decision.kind === "answer") return answerOf(decision.response, headersOf(c.body(null)));
  const { recording } = decision;
  try {
    await next();
  } catch (error) {
    await recording.fail();
    throw error;
  }
  // A handler that returned nothing has failed, as Hono is about to say; `c.res` would make an empty 200 of it.
  if (!c.finalized) {
    await recording.fail();
    return undefined;
  }
  let response: Response;
  try {
    response = await recorded(
      c.res,
      recording,
      () => c.req.raw.signal,
      (promise) => void waitUntil(c, promise),
    );
  } catch (error) {
    // Nobody can send it: it is no response, or something has read its body.
    await recording.fail();
    throw error;
  }
  // Hono merges the headers of a response that is there already.
  if (response !== c.res) {
    c.res = undefined;
    c.res = response;
  }
  return undefined;
}

/**
 * Protects routes: `app.post("/orders", idempotency(once, { scope: (c) => c.get("user").id }), createOrder)`. Put it after
 * authentication and validation, before the handler.
 */
export const idempotency = Object.assign(
  (once: Onceward, options: IdempotencyOptions): MiddlewareHandler => middleware(once, [options]),
  {
    /** An `idempotency` with the app's options, which takes route options only. */
    defaults:
      (once: Onceward, appOptions: IdempotencyOptions) =>
      (routeOptions: IdempotencyOptions = {}): MiddlewareHandler =>
        middleware(once, [appOptions, routeOptions]),
  },
);

/** Edge runtimes stop a request's work with its client or its response, unless told of it. */
function waitUntil<Value>(c: Context, promise: Promise<Value>): Promise<Value> {
  // Node stops nothing, and the exception below costs more than the rest of this package.
  if ((c.env as { incoming?: unknown } | undefined)?.incoming) return promise;
  try {
    c.executionCtx.waitUntil(promise.catch(() => {}));
  } catch {
    // There is no execution context here, so nothing stops the work either.
  }
  return promise;
}
