import type { Context } from "../context.ts";
import type { Engine } from "../engine.ts";
import { InvalidOptionError } from "../errors.ts";
import type { Execution } from "../execution.ts";
import type { Completion } from "../flight.ts";
import { markerOutcome, type Outcome } from "../outcome.ts";
import { encodeText, type MaybePromise, shortLivedBytes } from "../runtime.ts";
import { type HeaderList, headersToKeep, type KeepHeader, replaceHeaders } from "./headers.ts";
import { keepSuccess } from "./keep.ts";
import type { ResolvedHttpOptions } from "./options.ts";
import { encodeResponse, type HttpResponse } from "./outcome.ts";

/**
 * The response of a protected request while its handler makes it. A binding tells it of status and headers, of every
 * chunk, and at last exactly one of `finish`, `fail` and `abandon`; later calls change nothing.
 */
export class HttpRecording {
  readonly context: Context;
  readonly #engine: Engine;
  readonly #execution: Execution;
  readonly #options: Pick<ResolvedHttpOptions<never>, "keep" | "keepHeaders">;
  readonly #before: HeaderList;
  readonly #requestedAt: number;
  readonly #replay: (completion: Completion) => MaybePromise<HttpResponse>;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #ended: Promise<HttpResponse | undefined> | undefined;

  /** @internal */
  constructor(parts: {
    readonly engine: Engine;
    readonly execution: Execution;
    readonly options: Pick<ResolvedHttpOptions<never>, "keep" | "keepHeaders">;
    readonly before: HeaderList;
    readonly requestedAt: number;
    readonly replay: (completion: Completion) => MaybePromise<HttpResponse>;
  }) {
    this.#engine = parts.engine;
    this.#execution = parts.execution;
    this.#options = parts.options;
    this.#before = parts.before;
    this.#requestedAt = parts.requestedAt;
    this.#replay = parts.replay;
    this.context = parts.execution.context;
  }

  /** How long the claim holds without being renewed. */
  get leaseMs(): number {
    return this.#execution.policy.leaseMs;
  }

  /** Whether the response's end was told. */
  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** A piece of the body, text as UTF-8. Bytes are copied: frameworks reuse buffers. Past the limit nothing is held. */
  write(chunk: Uint8Array | string): void {
    if (this.#ended) return;
    const bytes = typeof chunk === "string" ? encodeText(chunk) : chunk;
    this.#bytes += bytes.byteLength;
    if (this.#bytes > this.#execution.policy.maxOutcomeBytes) this.#chunks = [];
    else if (bytes.byteLength > 0) this.#chunks.push(bytes === chunk ? copyOf(bytes) : bytes);
  }

  /**
   * The response is whole. Resolves when it may end: the store has confirmed it, or `completeWaitMs` have passed. With a
   * response when another runner's outcome stands instead; send that one if no byte has left.
   */
  finish(status: number, headers: HeaderList): Promise<HttpResponse | undefined> {
    this.#ended ??= this.#finish(status, headers);
    return this.#ended;
  }

  /** The handler failed without a response: the next attempt runs. */
  fail(): Promise<HttpResponse | undefined> {
    this.#ended ??= this.#execution.release("failed").then(() => undefined);
    return this.#ended;
  }

  /** The response was destroyed before its end: nobody knows how far the handler got. */
  abandon(): Promise<HttpResponse | undefined> {
    this.#ended ??= this.#execution.abandon().then(() => undefined);
    return this.#ended;
  }

  /** Never rejects: the response is there, and must reach the client whatever the options' functions do. */
  async #finish(status: number, after: HeaderList): Promise<HttpResponse | undefined> {
    const { keep } = this.#options;
    const kept = this.#ask(
      "keep",
      () => keep(status, after),
      () => keepSuccess(status),
    );
    const outcome = kept ? this.#outcome(status, after) : undefined;
    if (!outcome) {
      await this.#execution.release("not-kept");
      return undefined;
    }
    const settlement = await this.#execution.complete(outcome);
    if (settlement.kind !== "superseded" || settlement.winner?.outcome.kind !== "http") return undefined;
    try {
      const winner = await this.#replay(settlement.winner);
      // What this runner's handler set is not part of it; what stood there before belongs to this exchange.
      return { ...winner, headers: replaceHeaders(this.#before, winner.headers) };
    } catch (cause) {
      this.#report("transformReplay threw, so the client gets its own runner's response", cause);
      return undefined;
    }
  }

  /** What an option's function says. Where it throws, the default: a client has its 201, and the work must not run again. */
  #ask<Answer>(option: string, asked: () => Answer, byDefault: () => Answer): Answer {
    try {
      return asked();
    } catch (cause) {
      this.#report(`${option} threw, so its default decided`, cause);
      return byDefault();
    }
  }

  #report(what: string, cause: unknown): void {
    const error = new InvalidOptionError(`${what}: ${String(cause)}`, { cause });
    this.#engine.emit(this.#execution.operation, { type: "store-error", call: "complete", error });
  }

  #outcome(status: number, after: HeaderList): Outcome {
    const { operation, policy } = this.#execution;
    if (this.#bytes > policy.maxOutcomeBytes) {
      const limit = policy.maxOutcomeBytes;
      this.#engine.emit(operation, { type: "oversize", bytes: this.#bytes, limit, reason: "too-large" });
      return markerOutcome("too-large");
    }
    const chosen = (keep: KeepHeader | undefined) =>
      headersToKeep(this.#before, after, keep, (header) =>
        this.#engine.emit(operation, { type: "header-dropped", header }),
      );
    const headers = this.#ask(
      "keepHeaders",
      () => chosen(this.#options.keepHeaders),
      () => chosen(undefined),
    );
    const payload = encodeResponse({ status, headers, requestedAt: this.#requestedAt }, this.#chunks);
    this.#chunks = [];
    return { kind: "http", payload };
  }
}

function copyOf(bytes: Uint8Array): Uint8Array {
  const copy = shortLivedBytes(bytes.byteLength);
  copy.set(bytes);
  return copy;
}
