import { type HttpGuard, type HttpRecording, InvalidOptionError } from "@onceward/core";
import type {
  FastifyReply,
  FastifyRequest,
  preHandlerHookHandler,
  preValidationHookHandler,
  RouteOptions,
} from "fastify";
import { send } from "./reply.ts";
import { RequestView, snapshotOf } from "./request.ts";
import { stateOf } from "./state.ts";

/** Puts the guard last among the route's own `preHandler`s: after authentication and validation, before the handler. */
export function protect(route: RouteOptions, guard: HttpGuard<FastifyRequest>): void {
  const { methods, headers, key } = guard.options;
  const routeMethods = Array.isArray(route.method) ? route.method : [route.method];
  if (!routeMethods.some((method) => methods.has(method.toUpperCase()))) return;

  if (route.schema?.body) {
    const mayBeProtected = (request: FastifyRequest) =>
      methods.has(request.method) && (key !== undefined || headers.some((name) => name in request.headers));
    // Before validation coerces anything.
    const remember: preValidationHookHandler = (request, _reply, done) => {
      if (mayBeProtected(request)) stateOf(request).body = snapshotOf(request);
      done();
    };
    route.preValidation = [remember, ...list(route.preValidation)];
  }

  // Callbacks, because an async hook would cost every unprotected request its promises.
  const enter: preHandlerHookHandler = (request, reply, done) => {
    const deciding = guard.enter(new RequestView(request, reply));
    if (!deciding) {
      done();
      return;
    }
    deciding.then((decision) => {
      if (decision.kind === "gone") {
        reply.hijack();
        return;
      }
      const state = stateOf(request);
      state.context = decision.context;
      if (decision.kind === "answer") {
        send(reply, decision.response);
        return;
      }
      const { recording } = decision;
      state.recording = recording;
      reply.hijack = refuseHijack;
      watchRaw(reply.raw, recording);
      done();
    }, done);
  };
  route.preHandler = [...list(route.preHandler), enter];
}

const watching = Symbol("@onceward/fastify");
type RawReply = FastifyReply["raw"];
type Watched = RawReply & {
  [watching]: { readonly recording: HttpRecording; readonly destroy: RawReply["destroy"] };
};

/** Notices what a handler does around Fastify. Functions for all replies: closures for each held its objects back from the collector. */
function watchRaw(raw: RawReply, recording: HttpRecording): void {
  (raw as Watched)[watching] = { recording, destroy: raw.destroy };
  raw.on("finish", abandonUnlessEnded);
  raw.destroy = destroyWatched;
}

/** Sent through reply.raw: nobody knows what. */
function abandonUnlessEnded(this: RawReply): void {
  const { recording } = (this as Watched)[watching];
  if (!recording.ended) void recording.abandon();
}

/** Destroyed by the handler: nobody knows how far it got. For a client that has gone, Node does not call this. */
function destroyWatched(this: RawReply, error?: Error): RawReply {
  const { recording, destroy } = (this as Watched)[watching];
  if (!this.destroyed) void recording.abandon();
  return destroy.call(this, error);
}

function refuseHijack(): never {
  throw new InvalidOptionError(
    "reply.hijack() takes the response out of sight, so it can't be replayed. Send through reply, or set config.idempotency to false on this route",
  );
}

function list<Item>(items: Item | Item[] | undefined): Item[] {
  if (items === undefined) return [];
  return Array.isArray(items) ? items : [items];
}
