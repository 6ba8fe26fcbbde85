import {
  type HttpOptions,
  httpGuard,
  type Context as Idempotency,
  type Onceward,
  unprotectedContext,
} from "@onceward/core";
import type { Context, MiddlewareHandler } from "hono";
import { bodyOf } from "./request.ts";
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

  return async (c, next) => {
    const deciding = guard.enter({
      request: c,
      identity: c.req.raw,
      method: c.req.method,
      path: () => c.req.path,
      query: () => queryOf(c.req.url),
      header: (name) => {
        const value = c.req.header(name);
        return value === undefined ? [] : [value];
      },
      body: (maxBytes) => bodyOf(c, maxBytes),
      responseHeaders: () => headersOf(c.body(null)),
      get signal() {
        return c.req.raw.signal;
      },
    });
    const decision = deciding && (await deciding);
    if (decision?.kind === "gone") return new Response(null, { status: 499 });
    // An outer `idempotency` that protects the request must not be hidden by an inner one that doesn't.
    if (decision || !c.get("idempotency")) c.set("idempotency", decision?.context ?? unprotectedContext());
    if (decision?.kind === "answer") return answerOf(decision.response, headersOf(c.body(null)));
    if (decision?.kind !== "run") return next();

    const { recording } = decision;
    try {
      await next();
    } catch (error) {
      await recording.fail();
      throw error;
    }
    const response = await recorded(c.res, recording, c.req.raw.signal, (promise) => waitUntil(c, promise));
    // Hono merges the headers of a response that is there already.
    if (response !== c.res) {
      c.res = undefined;
      c.res = response;
    }
    return undefined;
  };
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

function queryOf(url: string): string {
  const [address = ""] = url.split("#", 1);
  const start = address.indexOf("?");
  return start < 0 ? "" : address.slice(start + 1);
}

/** Edge runtimes stop a request's work with its response, unless told of it. */
function waitUntil(c: Context, promise: Promise<unknown>): void {
  try {
    c.executionCtx.waitUntil(promise);
  } catch {
    // There is no execution context here, so nothing stops the work either.
  }
}
