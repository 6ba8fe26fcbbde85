import { type Context, type HttpOptions, httpGuard, type Onceward } from "@onceward/core";
import type { FastifyPluginAsync, FastifyRequest } from "fastify";
import fastifyPlugin from "fastify-plugin";
import { protect } from "./protect.ts";
import { recordPayload } from "./reply.ts";
import { contextOf, recordingOf } from "./state.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** This run's idempotency; `protected` is false where nothing protects it. */
    readonly idempotency: Context;
  }
  interface FastifyContextConfig {
    /** Options for this route, over the plugin's; `false` leaves the route alone. */
    idempotency?: RouteIdempotency | undefined;
  }
}

/** Options for one route; their functions get Fastify's `request`. */
export type RouteIdempotency = HttpOptions<FastifyRequest> | false;

/** Options of the plugin: those of all its routes, and the Onceward. */
export interface IdempotencyOptions extends HttpOptions<FastifyRequest> {
  /** What `onceward({ store })` returned. */
  readonly once: Onceward;
}

const plugin: FastifyPluginAsync<IdempotencyOptions> = async (fastify, { once, ...appOptions }) => {
  // Checked at once, not with the first route.
  httpGuard<FastifyRequest>(once, "idempotency", appOptions);
  fastify.decorateRequest("idempotency", {
    getter(this: FastifyRequest) {
      return contextOf(this);
    },
  });
  fastify.addHook("onRoute", (route) => {
    const routeOptions = route.config?.idempotency;
    if (routeOptions !== false) protect(route, httpGuard(once, "idempotency", appOptions, routeOptions ?? {}));
  });
  // Before the routes' own hooks and those registered later, so that what is kept is not yet compressed.
  fastify.addHook("onSend", (request, reply, payload, done) => {
    const recording = recordingOf(request);
    if (!recording || recording.ended) done(null, payload);
    else recordPayload(reply, recording, payload, done);
  });
};

/**
 * Protects the routes registered after it:
 * `await fastify.register(idempotency, { once, scope: (request) => request.user.id })`; options for one route go into its
 * `config.idempotency`.
 */
export const idempotency = fastifyPlugin(plugin, { name: "@onceward/fastify", fastify: "5.x" });
