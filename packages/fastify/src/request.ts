import {
  canonicalJson,
  closeSignal,
  type HeaderList,
  type HttpBody,
  type HttpRequestView,
  splitTarget,
} from "@onceward/core";
import type { FastifyReply, FastifyRequest } from "fastify";
import { headersOf } from "./reply.ts";
import { stateOf } from "./state.ts";

/** Fastify's request as core sees it. */
export class RequestView implements HttpRequestView<FastifyRequest> {
  readonly request: FastifyRequest;
  readonly #reply: FastifyReply;
  #signal: AbortSignal | undefined;

  constructor(request: FastifyRequest, reply: FastifyReply) {
    this.request = request;
    this.#reply = reply;
  }

  get identity(): object {
    return this.request.raw;
  }

  get method(): string {
    return this.request.method;
  }

  path(): string {
    return splitTarget(this.request.originalUrl)[0];
  }

  query(): string {
    return splitTarget(this.request.originalUrl)[1];
  }

  header(name: string): readonly string[] {
    const value = this.request.headers[name];
    return value === undefined ? none : typeof value === "string" ? [value] : value;
  }

  body(): HttpBody {
    return stateOf(this.request).body ?? bodyOf(this.request);
  }

  responseHeaders(): HeaderList {
    return headersOf(this.#reply);
  }

  hasGone(): boolean {
    return this.#reply.raw.destroyed;
  }

  get signal(): AbortSignal {
    this.#signal ??= closeSignal(this.#reply.raw);
    return this.#signal;
  }
}

const none: readonly string[] = [];

function bodyOf({ body, headers }: FastifyRequest): HttpBody {
  const announced = headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
  // Over HTTP/2 there may be one that no header announces: then only the parser knows.
  if (!announced && (body === undefined || body === "")) return { kind: "none" };
  if (body === undefined || isStream(body))
    return { kind: "unseen", remedy: "add a content type parser that gives a value, a string or a Buffer" };
  return { kind: "parsed", value: body };
}

/** The body as it is now, safe from what validation does to it in place. */
export function snapshotOf(request: FastifyRequest): HttpBody {
  const body = bodyOf(request);
  if (body.kind !== "parsed" || typeof body.value !== "object" || body.value instanceof Uint8Array) return body;
  if (/^multipart\//i.test(request.headers["content-type"] ?? "")) return body;
  return { kind: "parsed", value: copyOf(body.value) };
}

/** structuredClone gives up on deep nesting, and JSON on what parsers of one's own may make, such as BigInt. */
function copyOf(value: unknown): unknown {
  const json = canonicalJson(value);
  try {
    return JSON.parse(json);
  } catch {
    return structuredClone(value);
  }
}

function isStream(value: unknown): boolean {
  return typeof (value as { pipe?: unknown } | null)?.pipe === "function";
}
