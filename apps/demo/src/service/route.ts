import type { Context, HttpOptions } from "@onceward/core";
import type { Effects } from "./effects.ts";

/** What every framework's request can tell before the handler runs. */
export interface RequestFacts {
  readonly params: Readonly<Record<string, string>>;
  header(name: string): string | undefined;
}

/** What a handler gets, whatever the framework. */
export interface ServiceRequest extends RequestFacts {
  readonly body: Readonly<Record<string, unknown>>;
  /** Onceward's context; in the unprotected twin, one whose `step` just runs. */
  readonly idempotency: Context;
  readonly effects: Effects;
}

/** What a handler answers, as JSON. */
export interface Reply {
  readonly status: number;
  readonly body: unknown;
}

/** Options of Onceward for a route, in any framework: `facts` reads that framework's request. */
export type RouteIdempotency = <Request>(facts: (request: Request) => RequestFacts) => HttpOptions<Request>;

/** A route, described once; `express.ts`, `fastify.ts` and `hono.ts` mount it. */
export interface Route {
  readonly method: "GET" | "POST" | "PATCH";
  /** With `:name` for parameters, which all three frameworks understand. */
  readonly path: string;
  readonly idempotency?: RouteIdempotency | undefined;
  handle(request: ServiceRequest): Promise<Reply> | Reply;
}
