import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import type { BindingSetup, KitServer } from "@onceward/testkit";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { idempotency } from "../src/index.ts";

/** A server for the kit. */
export async function serveFastify(setup: BindingSetup<FastifyRequest>): Promise<KitServer> {
  const { once, options, routeOptions, handle, before } = setup;
  const fastify = Fastify({ forceCloseConnections: true });
  fastify.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  fastify.addHook("onRequest", async (_request, reply) => {
    for (const [name, value] of before) reply.header(name, value);
  });
  await fastify.register(idempotency, { once, ...options });
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    const { status, headers = [], body } = await handle(request.idempotency, () => request.body);
    reply.code(status);
    const values = new Map<string, string[]>();
    for (const [name, value] of headers) values.set(name, [...(values.get(name) ?? []), value]);
    for (const [name, [value, ...more]] of values) reply.header(name, more.length ? [value, ...more] : value);
    if (body === undefined) return reply.send();
    return reply.send(body instanceof Uint8Array ? Buffer.from(body) : Readable.from(body, { objectMode: false }));
  };
  const routes = async (instance: FastifyInstance) => {
    instance.all("/orders", handler);
    instance.all("/refunds", { config: { idempotency: routeOptions } }, handler);
  };
  await fastify.register(routes);
  await fastify.register(routes, { prefix: "/mounted" });
  await fastify.listen({ port: 0, host: "127.0.0.1" });
  return { port: (fastify.server.address() as AddressInfo).port, close: () => fastify.close() };
}
