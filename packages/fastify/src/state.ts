import { type Context, type HttpBody, type HttpRecording, unprotectedContext } from "@onceward/core";
import type { FastifyRequest } from "fastify";

/** What a request carries through its hooks. */
export interface State {
  /** The body as it came: validation may coerce it later. */
  body?: HttpBody;
  context?: Context;
  recording?: HttpRecording;
}

const key = Symbol("@onceward/fastify");
type Marked = FastifyRequest & { [key]?: State };

/** The request's state, made when first asked for. */
export function stateOf(request: FastifyRequest): State {
  const marked = request as Marked;
  marked[key] ??= {};
  return marked[key];
}

/** What the handler finds in `request.idempotency`. */
export function contextOf(request: FastifyRequest): Context {
  const state = stateOf(request);
  state.context ??= unprotectedContext();
  return state.context;
}

/** The recording, if the request is protected; asked of every request, so it leaves nothing behind. */
export function recordingOf(request: FastifyRequest): HttpRecording | undefined {
  return (request as Marked)[key]?.recording;
}
