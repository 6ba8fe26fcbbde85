import type { Context, HeaderList, HttpOptions, Onceward, Store } from "@onceward/core";

/** What a handler of the kit answers with. */
export interface KitResponse {
  readonly status: number;
  readonly headers?: HeaderList | undefined;
  /** Bytes to send whole, or chunks to stream as they come. */
  readonly body?: Uint8Array | AsyncIterable<Uint8Array> | undefined;
}

/** What `serve` is to put on the wire. */
export interface BindingSetup<Request> {
  readonly once: Onceward;
  /** To be handed to the binding as they are. */
  readonly options: HttpOptions<Request>;
  /** Answers every method and path. Where it rejects, the handler of the framework must reject too. */
  readonly handle: (context: Context) => Promise<KitResponse>;
  /** Headers that a middleware in front of idempotency sets on every response. */
  readonly before: HeaderList;
}

/** What `testBinding` needs to know of a binding. */
export interface BindingSuite<Request> {
  /** Names the suite in the report. */
  readonly name: string;
  /**
   * Starts a server on 127.0.0.1 whose routes `/orders`, `/refunds` and, in a mounted router, `/mounted/orders` are
   * protected for all methods by the binding with these options.
   */
  readonly serve: (
    setup: BindingSetup<Request>,
  ) => Promise<{ readonly port: number; readonly close: () => Promise<void> }>;
  /** Reads a header of the framework's request. */
  readonly header: (request: Request, name: string) => string | undefined;
  /** A new store, each time on the same backend. The suite closes it. */
  readonly createStore: () => Store | Promise<Store>;
  /** How long to wait for what must happen, before a case fails. Default: 10,000. */
  readonly patienceMs?: number | undefined;
}
