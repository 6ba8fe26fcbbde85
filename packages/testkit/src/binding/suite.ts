import type { Context, HeaderList, HttpOptions, Onceward, Store } from "@onceward/core";

/** What a handler of the kit answers with. */
export interface KitResponse {
  readonly status: number;
  readonly headers?: HeaderList | undefined;
  /**
   * Bytes to send whole, or chunks to stream as they come. When the chunks end in an error, so must the response: it is
   * destroyed, as the framework's own way of streaming does.
   */
  readonly body?: Uint8Array | AsyncIterable<Uint8Array> | undefined;
}

/** What `serve` is to put on the wire. */
export interface BindingSetup<Request> {
  readonly once: Onceward;
  /** The app's options, to be handed to the binding as they are. */
  readonly options: HttpOptions<Request>;
  /** Options of the route `/refunds`, over the app's. */
  readonly routeOptions: HttpOptions<Request>;
  /**
   * Answers every method and path. Where it rejects, the handler of the framework must reject too, and the framework
   * answer with the error's `status`, or 500.
   * @param body - the request's body as handlers of the framework get it: parsed, where the type is JSON.
   */
  readonly handle: (context: Context, body: () => unknown) => Promise<KitResponse>;
  /** Headers that a middleware in front of idempotency sets on every response. */
  readonly before: HeaderList;
}

/** A server that a suite started. */
export interface KitServer {
  readonly port: number;
  /** Ends it with all its connections. */
  readonly close: () => Promise<void>;
}

/** What `testBinding` needs to know of a binding. */
export interface BindingSuite<Request> {
  /** Names the suite in the report. */
  readonly name: string;
  /**
   * Starts a server on 127.0.0.1 whose routes `/orders`, `/refunds` and, in a mounted router, `/mounted/orders` are
   * protected for all methods by the binding with these options.
   */
  readonly serve: (setup: BindingSetup<Request>) => Promise<KitServer>;
  /**
   * Reads a header of the framework's request, by its lower-case name. Default: from `request.headers`, which may be an
   * object, as Node's, or a `Headers`.
   */
  readonly header?: ((request: Request, name: string) => string | undefined) | undefined;
  /** A new store, each time on the same backend. The suite closes it. Default: a memory store. */
  readonly createStore?: (() => Store | Promise<Store>) | undefined;
  /**
   * Starts a server as a process of its own, on a store that all of them share: `/orders` is protected with the scope
   * `"shared"` and leases of `leaseMs`. Its handler streams the process's id at once, and ends the response after as many
   * milliseconds as the JSON body's `workMs` says; in a later attempt (`context.attempt`) at once. Adds the cases that
   * need several processes.
   */
  readonly startProcess?: ((options: { readonly leaseMs: number }) => Promise<KitProcess>) | undefined;
  /** Seed of the random input. A failing case prints the seed it had. Default: 1. */
  readonly seed?: number | undefined;
  /** How long to wait for what must happen, before a case fails. Default: 10,000. */
  readonly patienceMs?: number | undefined;
}

/** A server in another process. */
export interface KitProcess {
  readonly port: number;
  readonly pid: number;
  /** Ends it at once, as a crash does. */
  readonly kill: () => Promise<void>;
}

/** One provable statement about a binding. */
export interface BindingCase {
  /** What the case shows, with a number to cite, as `H2.1 quoted and bare keys are one`. */
  readonly name: string;
  /** What it belongs to, as `H2 keys`. */
  readonly group: string;
  /** Rejects when the binding does otherwise. */
  readonly run: () => Promise<void>;
}
