import { type Context, type HttpOptions, httpGuard, type Onceward, unprotectedContext } from "@onceward/core";
import type { Request, RequestHandler } from "express";
import { bodyOf } from "./request.ts";
import { headersOf, record, send } from "./response.ts";

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
    // Asked for only by requests with a key.
    let gone: AbortController | undefined;
    const onClose = () => gone?.abort();
    const clientSignal = () => {
      if (!gone) {
        gone = new AbortController();
        res.once("close", onClose);
        if (res.destroyed || req.socket.destroyed) gone.abort();
      }
      return gone.signal;
    };
    const deciding = guard.enter({
      request: req,
      identity: req,
      method: req.method,
      path: () => splitUrl(req)[0],
      query: () => splitUrl(req)[1],
      header: (name) => {
        const value = req.headers[name];
        return value === undefined ? [] : typeof value === "string" ? [value] : value;
      },
      body: (maxBytes) => bodyOf(req, maxBytes, clientSignal()),
      responseHeaders: () => headersOf(res),
      get signal() {
        return clientSignal();
      },
    });
    if (!deciding) {
      // An outer `idempotency` that protects the request must not be hidden by an inner one that doesn't.
      req.idempotency ??= unprotectedContext();
      next();
      return;
    }
    deciding
      .then((decision) => {
        res.removeListener("close", onClose);
        if (decision.kind === "gone") return;
        req.idempotency = decision.context;
        if (decision.kind === "answer") return send(res, decision.response);
        if (decision.kind === "run") record(res, decision.recording);
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

/** Not `req.url`, which a mounted router shortens. */
function splitUrl({ originalUrl }: Request): [path: string, query: string] {
  const [address = ""] = originalUrl.split("#", 1);
  const start = address.indexOf("?");
  return start < 0 ? [address, ""] : [address.slice(0, start), address.slice(start + 1)];
}
