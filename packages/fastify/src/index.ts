import {
  type Context,
  type HttpBody,
  type HttpDecision,
  type HttpOptions,
  httpGuard,
  InvalidOptionError,
  type Onceward,
  unprotectedContext,
} from "@onceward/core";
import type { FastifyPluginAsync, FastifyReply, FastifyRequest, RouteOptions } from "fastify";
import fastifyPlugin from "fastify-plugin";
import { headersOf, recordPayload, send } from "./reply.ts";

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

/** What a request carries through its hooks. */
interface State {
  /** The body as it came: validation may coerce it later. */
  body?: HttpBody;
  context?: Context;
  recording?: Extract<HttpDecision, { kind: "run" }>["recording"];
}

const states = new WeakMap<FastifyRequest, State>();

function stateOf(request: FastifyRequest): State {
  const state = states.get(request) ?? {};
  states.set(request, state);
  return state;
}

const plugin: FastifyPluginAsync<IdempotencyOptions> = async (fastify, { once, ...appOptions }) => {
  // Checked at once, not with the first route.
  httpGuard<FastifyRequest>(once, "idempotency", appOptions);
  fastify.decorateRequest("idempotency", {
    getter(this: FastifyRequest): Context {
      const state = stateOf(this);
      state.context ??= unprotectedContext();
      return state.context;
    },
  });
  fastify.addHook("onRoute", (route) => protect(route, once, appOptions));
};

function protect(route: RouteOptions, once: Onceward, appOptions: HttpOptions<FastifyRequest>): void {
  const routeOptions = route.config?.idempotency ?? {};
  if (routeOptions === false) return;
  const guard = httpGuard<FastifyRequest>(once, "idempotency", appOptions, routeOptions);
  const methods = Array.isArray(route.method) ? route.method : [route.method];
  if (!methods.some((method) => guard.options.methods.has(method.toUpperCase()))) return;

  // Before validation coerces anything. The value may be changed in place, so what is compared is a copy.
  const mayBeProtected = (request: FastifyRequest) =>
    guard.options.methods.has(request.method) &&
    (guard.options.key !== undefined || guard.options.headers.some((name) => request.headers[name] !== undefined));
  route.preValidation = [
    async (request: FastifyRequest) => {
      if (route.schema?.body && mayBeProtected(request)) stateOf(request).body = structuredBody(request);
    },
    ...list(route.preValidation),
  ] as NonNullable<typeof route.preValidation>;

  route.preHandler = [
    ...list(route.preHandler),
    async (request: FastifyRequest, reply: FastifyReply) => {
      const decision = await enter(guard, request, reply);
      if (!decision) return undefined;
      if (decision.kind === "gone") {
        reply.hijack();
        return reply;
      }
      const state = stateOf(request);
      state.context = decision.context;
      if (decision.kind === "answer") return send(reply, decision.response);
      if (decision.kind === "run") {
        state.recording = decision.recording;
        reply.hijack = () => {
          throw new InvalidOptionError(
            "reply.hijack() takes the response out of sight, so it can't be replayed. Send through reply, or set config.idempotency to false on this route",
          );
        };
      }
      return undefined;
    },
  ] as NonNullable<typeof route.preHandler>;

  // First, so that what is kept is not yet compressed.
  route.onSend = [
    async (request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
      const { recording } = states.get(request) ?? {};
      return recording && !recording.ended ? recordPayload(reply, recording, payload) : payload;
    },
    ...list(route.onSend),
  ] as NonNullable<typeof route.onSend>;

  route.onResponse = [
    ...list(route.onResponse),
    async (request: FastifyRequest, reply: FastifyReply) => {
      const { recording } = states.get(request) ?? {};
      // Sent around Fastify, through reply.raw: nobody knows what.
      if (recording && !recording.ended && reply.raw.writableFinished) await recording.abandon();
    },
  ] as NonNullable<typeof route.onResponse>;
}

function enter(guard: ReturnType<typeof httpGuard<FastifyRequest>>, request: FastifyRequest, reply: FastifyReply) {
  let gone: AbortController | undefined;
  return guard.enter({
    request,
    identity: request.raw,
    method: request.method,
    path: () => splitUrl(request.originalUrl)[0],
    query: () => splitUrl(request.originalUrl)[1],
    header: (name) => {
      const value = request.headers[name];
      return value === undefined ? [] : typeof value === "string" ? [value] : value;
    },
    body: () => stateOf(request).body ?? bodyOf(request),
    responseHeaders: () => headersOf(reply),
    get signal() {
      if (!gone) {
        const controller = new AbortController();
        gone = controller;
        reply.raw.once("close", () => reply.raw.writableFinished || controller.abort());
        if (reply.raw.destroyed) controller.abort();
      }
      return gone.signal;
    },
  });
}

function bodyOf(request: FastifyRequest): HttpBody {
  const { body } = request;
  const declared =
    request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > 0;
  if (!declared) return { kind: "none" };
  if (body === undefined || isStream(body))
    return { kind: "unseen", remedy: "add a content type parser that gives a value, a string or a Buffer" };
  return { kind: "parsed", value: body };
}

function structuredBody(request: FastifyRequest): HttpBody {
  const body = bodyOf(request);
  return body.kind === "parsed" ? { kind: "parsed", value: structuredClone(body.value) } : body;
}

function isStream(value: unknown): boolean {
  return typeof (value as { pipe?: unknown } | null)?.pipe === "function";
}

function list<Item>(items: Item | Item[] | undefined): Item[] {
  if (items === undefined) return [];
  return Array.isArray(items) ? items : [items];
}

function splitUrl(url: string): [path: string, query: string] {
  const [address = ""] = url.split("#", 1);
  const start = address.indexOf("?");
  return start < 0 ? [address, ""] : [address.slice(0, start), address.slice(start + 1)];
}

/**
 * Protects the routes registered after it:
 * `await fastify.register(idempotency, { once, scope: (request) => request.user.id })`; options for one route go into its
 * `config.idempotency`.
 */
export const idempotency = fastifyPlugin(plugin, { name: "@onceward/fastify", fastify: "5.x" });
