import { type Context, type HttpOptions, httpGuard, type Onceward, unprotectedContext } from "@onceward/core";
import type { Request, RequestHandler } from "express";
import { RequestView } from "./request.ts";
import { record, send } from "./response.ts";

declare global {
  namespace Express {
    interface Request {
      /** This run's idempotency; `protected` is false where nothing protects it. */
      idempotency: Context;
    }
  }
}

/** Options of {@link idempotency}; their functions get Express's `req`. */
export type IdempotencyOptions = HttpOptions<Request>;

function middleware(once: Onceward, layers: readonly IdempotencyOptions[]): RequestHandler {
  const guard = httpGuard<Request>(once, "idempotency", ...layers);

  return (req, res, next) => {
    const view = new RequestView(req, res);
    const deciding = guard.enter(view);
    if (!deciding) {
      // An outer `idempotency` that protects the request must not be hidden by an inner one that doesn't.
      req.idempotency ??= unprotectedContext();
      next();
      return;
    }
    deciding
      .then((decision) => {
        view.stopListening();
        if (decision.kind === "gone") return;
        req.idempotency = decision.context;
        if (decision.kind === "answer") return send(res, decision.response);
        record(res, decision.recording);
        next();
      })
      .catch(next);
  };
}

/**
 * Protects routes: `app.post("/orders", express.json(), idempotency(once, { scope: (req) => req.user.id }), createOrder)`.
 * Put it after authentication and validation, before the handler.
 */
export const idempotency = Object.assign(
  (once: Onceward, options: IdempotencyOptions): RequestHandler => middleware(once, [options]),
  {
    /** An `idempotency` with the app's options, which takes route options only. */
    defaults:
      (once: Onceward, appOptions: IdempotencyOptions) =>
      (routeOptions: IdempotencyOptions = {}): RequestHandler =>
        middleware(once, [appOptions, routeOptions]),
  },
);
