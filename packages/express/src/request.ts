import type { IncomingMessage } from "node:http";
import { BodyTooLargeError, type HeaderList, type HttpBody, type HttpRequestView, splitTarget } from "@onceward/core";
import type { Request, Response } from "express";
import { headersOf } from "./response.ts";

/** Express's request as core sees it. */
export class RequestView implements HttpRequestView<Request> {
  readonly request: Request;
  readonly #res: Response;
  // Made only for requests with a key.
  #gone: AbortController | undefined;
  #onClose: (() => void) | undefined;

  constructor(request: Request, res: Response) {
    this.request = request;
    this.#res = res;
  }

  get identity(): object {
    return this.request;
  }

  get method(): string {
    return this.request.method;
  }

  // Not `req.url`, which a mounted router shortens.
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

  body(maxBytes: number): HttpBody | Promise<HttpBody> {
    return bodyOf(this.request, maxBytes, () => this.signal);
  }

  responseHeaders(): HeaderList {
    return headersOf(this.#res);
  }

  hasGone(): boolean {
    return this.#res.destroyed || this.request.socket.destroyed;
  }

  get signal(): AbortSignal {
    if (!this.#gone) {
      const gone = new AbortController();
      this.#gone = gone;
      this.#onClose = () => gone.abort();
      this.#res.once("close", this.#onClose);
      if (this.hasGone()) gone.abort();
    }
    return this.#gone.signal;
  }

  /** The decision is made: the response's recording listens from now on. */
  stopListening(): void {
    if (this.#onClose) this.#res.removeListener("close", this.#onClose);
  }
}

const none: readonly string[] = [];

/** What parsers leave on a request. */
interface ParsedRequest extends IncomingMessage {
  body?: unknown;
  /** Set by body-parser when it has parsed: in Express 4 an unparsed body looks like `{}`. */
  _body?: boolean;
}

/** The body as a parser left it; without a parser it is read here, and put back for whoever reads it next. */
function bodyOf(req: ParsedRequest, maxBytes: number, client: () => AbortSignal): HttpBody | Promise<HttpBody> {
  const length = Number(req.headers["content-length"] ?? 0);
  if (length === 0 && req.headers["transfer-encoding"] === undefined) return { kind: "none" };
  if (req._body) return { kind: "parsed", value: req.body };
  if (!req.readableDidRead && !req.readableEnded && !req.destroyed) {
    if (length > maxBytes) throw tooLarge(maxBytes);
    return readAndPutBack(req, maxBytes, client());
  }
  if (req.body !== undefined && !looksUnparsed(req, length)) return { kind: "parsed", value: req.body };
  return {
    kind: "unseen",
    remedy: "something has read the body and left no req.body; put idempotency after a body parser, or before any",
  };
}

/**
 * Express 5 leaves no sign of its parsers, and `{}` is a fine body; but in Express 4 it is also what a parser of another
 * type leaves of a body that it passed by.
 */
function looksUnparsed({ body, headers }: ParsedRequest, length: number): boolean {
  if (typeof body !== "object" || body === null || Object.keys(body).length > 0 || body instanceof Uint8Array)
    return false;
  return length > 16 || !/[/+]json\b|x-www-form-urlencoded/i.test(headers["content-type"] ?? "");
}

const tooLarge = (maxBytes: number) =>
  new BodyTooLargeError(`The request's body has more than ${maxBytes} bytes (maxBodyBytes)`);

function readAndPutBack(req: IncomingMessage, maxBytes: number, client: AbortSignal): Promise<HttpBody> {
  const chunks: Buffer[] = [];
  let size = 0;
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => {
      req.removeListener("readable", onReadable);
      req.removeListener("end", finish);
      req.removeListener("error", onGone);
      client.removeEventListener("abort", onGone);
      // Streams leave the paused mode one tick after their last "readable" listener.
      setImmediate(settle);
    };
    const onGone = () => {
      if (client.aborted) end(() => reject(client.reason));
    };
    const finish = () => {
      const bytes = Buffer.concat(chunks);
      if (bytes.byteLength > 0 && !req.readableEnded) req.unshift(bytes);
      end(() => resolve({ kind: "bytes", bytes }));
    };
    const onReadable = () => {
      // Exactly what is there: asking for more at the end would end the stream, and nothing could be put back.
      while (req.readableLength > 0) {
        const chunk = req.read(req.readableLength) as Buffer | null;
        if (chunk === null) break;
        chunks.push(chunk);
        size += chunk.byteLength;
        if (size > maxBytes) {
          req.resume();
          end(() => reject(tooLarge(maxBytes)));
          return;
        }
      }
      if (req.complete) finish();
    };
    req.on("readable", onReadable);
    req.on("end", finish);
    // Listened to, or it would be thrown; the same news comes through the signal.
    req.on("error", onGone);
    client.addEventListener("abort", onGone);
  });
}
