import { unprotectedContext } from "@onceward/core";
import { idempotency } from "@onceward/fastify";
import Fastify, { type FastifyRequest } from "fastify";
import type { MountFramework } from "./mount.ts";
import type { RequestFacts, ServiceRequest } from "./route.ts";

const facts = (request: FastifyRequest): RequestFacts => ({
  params: request.params as Record<string, string>,
  header: (name) => {
    const value = request.headers[name.toLowerCase()];
    return Array.isArray(value) ? value.join(", ") : value;
  },
});

/** The routes on Fastify. */
export const mountFastify: MountFramework = async ({ routes, once, effects, traced }) => {
  const app = Fastify();
  app.addHook("preHandler", (request, _reply, done) => traced(facts(request), done));
  // Every route says whose keys they are; the plugin's own scope is for routes that don't.
  if (once) await app.register(idempotency, { once, scope: "shared" });
  for (const { method, path, idempotency: options, handle } of routes) {
    const protection = once && options ? { idempotency: options(facts) } : { idempotency: false as const };
    app.route({
      method,
      url: path,
      config: protection,
      handler: async (request, reply) => {
        const view = facts(request);
        const answer = await handle({
          ...view,
          body: (request.body ?? {}) as ServiceRequest["body"],
          idempotency: request.idempotency ?? unprotectedContext(),
          effects: effects(view),
        });
        return reply.status(answer.status).send(answer.body);
      },
    });
  }
  await app.ready();
  return app.routing;
};
