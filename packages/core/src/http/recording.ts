import type { Context } from "../context.ts";
import type { Engine } from "../engine.ts";
import type { Execution } from "../execution.ts";
import type { Completion } from "../flight.ts";
import { concatBytes } from "../hash.ts";
import { markerOutcome } from "../outcome.ts";
import { type HeaderList, headersToKeep } from "./headers.ts";
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
  readonly #replay: (completion: Completion) => Promise<HttpResponse>;
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
    readonly replay: (completion: Completion) => Promise<HttpResponse>;
  }) {
    this.#engine = parts.engine;
    this.#execution = parts.execution;
    this.#options = parts.options;
    this.#before = parts.before;
    this.#requestedAt = parts.requestedAt;
    this.#replay = parts.replay;
    this.context = parts.execution.context;
  }

  /** Whether the response's end was told. */
  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** A piece of the body. It is copied: frameworks reuse buffers. Past the limit nothing is held any longer. */
  write(chunk: Uint8Array): void {
    if (this.#ended) return;
    this.#bytes += chunk.byteLength;
    if (this.#bytes > this.#execution.policy.maxOutcomeBytes) this.#chunks = [];
    else if (chunk.byteLength > 0) this.#chunks.push(chunk.slice());
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

  async #finish(status: number, after: HeaderList): Promise<HttpResponse | undefined> {
    if (!this.#options.keep(status)) {
      await this.#execution.release("not-kept");
      return undefined;
    }
    const settlement = await this.#execution.complete(this.#outcome(status, after));
    if (settlement.kind !== "superseded" || settlement.winner?.outcome.kind !== "http") return undefined;
    return this.#replay(settlement.winner);
  }

  #outcome(status: number, after: HeaderList) {
    const { operation, policy } = this.#execution;
    if (this.#bytes > policy.maxOutcomeBytes) {
      const limit = policy.maxOutcomeBytes;
      this.#engine.emit(operation, { type: "oversize", bytes: this.#bytes, limit, reason: "too-large" });
      return markerOutcome("too-large");
    }
    const headers = headersToKeep(this.#before, after, this.#options.keepHeaders, (header) =>
      this.#engine.emit(operation, { type: "header-dropped", header }),
    );
    const body = concatBytes(this.#chunks);
    this.#chunks = [];
    return {
      kind: "http" as const,
      payload: encodeResponse({ status, headers, body, requestedAt: this.#requestedAt }),
    };
  }
}
