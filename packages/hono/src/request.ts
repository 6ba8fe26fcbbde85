import type { IncomingMessage, ServerResponse } from "node:http";
import {
  BodyTooLargeError,
  closeSignal,
  concatBytes,
  type HeaderList,
  type HttpBody,
  type HttpRequestView,
} from "@onceward/core";
import type { Context } from "hono";
import { headersOf } from "./response.ts";

/** Hono's context as core sees it. */
class RequestView implements HttpRequestView<Context> {
  readonly request: Context;

  constructor(c: Context) {
    this.request = c;
  }

  get identity(): object {
    return this.request.req.raw;
  }

  get method(): string {
    return this.request.req.method;
  }

  path(): string {
    return this.request.req.path;
  }

  query(): string {
    const [address = ""] = this.request.req.url.split("#", 1);
    const start = address.indexOf("?");
    return start < 0 ? "" : address.slice(start + 1);
  }

  header(name: string): readonly string[] {
    const value = this.request.req.header(name);
    return value === undefined ? none : [value];
  }

  body(maxBytes: number): Promise<HttpBody> {
    return bodyOf(this.request, maxBytes, () => this.signal);
  }

  responseHeaders(): HeaderList {
    return headersOf(this.request.body(null));
  }

  get signal(): AbortSignal {
    return this.request.req.raw.signal;
  }
}

/** The same on @hono/node-server, where Node can be asked whether the client has gone: a signal is made only for those who wait. */
class NodeRequestView extends RequestView {
  readonly #outgoing: ServerResponse;
  #signal: AbortSignal | undefined;

  constructor(c: Context, outgoing: ServerResponse) {
    super(c);
    this.#outgoing = outgoing;
  }

  hasGone(): boolean {
    return this.#outgoing.destroyed;
  }

  override get signal(): AbortSignal {
    this.#signal ??= closeSignal(this.#outgoing);
    return this.#signal;
  }
}

/** The view for the runtime that serves the request. */
export function viewOf(c: Context): RequestView {
  const { outgoing } = (c.env ?? {}) as { outgoing?: ServerResponse };
  // Not so over HTTP/2.
  return typeof outgoing?.destroyed === "boolean" ? new NodeRequestView(c, outgoing) : new RequestView(c);
}

const none: readonly string[] = [];

/** The body's bytes; the handler can still read it in every way. */
async function bodyOf(c: Context, maxBytes: number, client: () => AbortSignal): Promise<HttpBody> {
  const { req } = c;
  const { raw } = req;
  const declared = req.header("content-length");
  if (declared === "0") return { kind: "none" };
  if (Number(declared ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const incoming = incomingOf(c);
  if (incoming) return bytesOf(await readIncoming(incoming, maxBytes, client));
  if (raw.bodyUsed) return rememberedBody(c);
  if (raw.body === null) return { kind: "none" };

  const reader = (raw.clone().body as ReadableStream<Uint8Array>).getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read().catch((error: unknown) => {
      throw client().aborted ? client().reason : error;
    });
    if (done) return bytesOf(concatBytes(chunks));
    size += value.byteLength;
    if (size > maxBytes) {
      // The other copy goes on holding what is not read: nobody will.
      void reader.cancel();
      void raw.body.cancel();
      throw tooLarge(maxBytes);
    }
    chunks.push(value);
  }
}

const bytesOf = (bytes: Uint8Array): HttpBody => ({ kind: "bytes", bytes });
const tooLarge = (maxBytes: number) =>
  new BodyTooLargeError(`The request's body has more than ${maxBytes} bytes (maxBodyBytes)`);

/** A validator has read it through Hono, which remembers what it made of it. */
async function rememberedBody({ req }: Context): Promise<HttpBody> {
  const { bodyCache } = req;
  if (Object.keys(bodyCache).length === 0)
    return { kind: "unseen", remedy: "read the body through c.req, or put idempotency before what reads it" };
  if (!bodyCache.formData) return bytesOf(new Uint8Array(await req.arrayBuffer()));
  // Written out again it would have another boundary each time.
  const form = await bodyCache.formData;
  return { kind: "parsed", value: Object.fromEntries([...form.keys()].map((name) => [name, form.getAll(name)])) };
}

/** What @hono/node-server hands on as `env`, and reads bodies from; `rawBody` is where it looks first. */
type NodeRequest = IncomingMessage & { rawBody?: Buffer };

/** Node's own request, if nobody has touched the body yet: a tenth of the cost of a cloned web stream. */
function incomingOf({ env, req }: Context): NodeRequest | undefined {
  const { incoming } = (env ?? {}) as { incoming?: NodeRequest };
  if (typeof incoming?.on !== "function" || incoming.readableDidRead || incoming.destroyed) return undefined;
  // Only a request that is still a thin cover of Node's: once it has a web stream, that is where the bytes must go.
  const marks = Object.getOwnPropertySymbols(req.raw).map((symbol) => symbol.description);
  return marks.includes("incomingKey") && !marks.includes("requestCache") ? incoming : undefined;
}

function readIncoming(incoming: NodeRequest, maxBytes: number, client: () => AbortSignal): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const stop = () => {
      incoming.off("data", onData);
      incoming.off("end", onEnd);
      incoming.off("error", onGone);
      incoming.off("close", onGone);
    };
    const onData = (chunk: Buffer) => {
      size += chunk.byteLength;
      chunks.push(chunk);
      if (size <= maxBytes) return;
      stop();
      incoming.resume();
      reject(tooLarge(maxBytes));
    };
    const onEnd = () => {
      stop();
      incoming.rawBody = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
      resolve(incoming.rawBody);
    };
    const onGone = () => {
      stop();
      const signal = client();
      // It is aborted when the response has seen the same.
      if (signal.aborted) reject(signal.reason);
      else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    };
    incoming.on("data", onData);
    incoming.on("end", onEnd);
    incoming.on("error", onGone);
    incoming.on("close", onGone);
  });
}
