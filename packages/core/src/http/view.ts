import type { Leaving } from "../flight.ts";
import type { MaybePromise } from "../runtime.ts";
import type { HttpBody } from "./body.ts";
import type { HeaderList } from "./headers.ts";

/** A request as core sees it. Bindings answer lazily: an unprotected request is asked for its method and one header. */
export interface HttpRequestView<Request> {
  /** The framework's own request, for functions among the options. */
  readonly request: Request;
  /** The object that stands for this request whatever wraps it, so that protecting it twice is noticed. */
  readonly identity: object;
  readonly method: string;
  /** The full path, without the query, never relative to a router. */
  readonly path: () => string;
  /** Without the question mark. */
  readonly query: () => string;
  /** The header's lines, by lower-case name; joined by commas where the framework does that. */
  readonly header: (name: string) => readonly string[];
  /** The body, which stays readable for the handler. Rejects with `BodyTooLargeError` past the limit. */
  readonly body: (maxBytes: number) => MaybePromise<HttpBody>;
  /** Headers that are on the response already. */
  readonly responseHeaders: () => HeaderList;
  /** Aborts when the client goes away: the request then stops waiting. */
  readonly signal?: AbortSignal | undefined;
  /** Whether it has gone: `signal` is aborted then, at the latest when it is asked for. With this, `signal` is asked for only by requests that wait: to make one costs others 10 %. */
  readonly hasGone?: (() => boolean) | undefined;
}

/** Path and query of a request's target, also of one in absolute form (`http://host/path`), which names the same. */
export function splitTarget(target: string): readonly [path: string, query: string] {
  const address = target.split("#", 1)[0] as string;
  const local = address.startsWith("/") ? address : address.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?]*/i, "");
  const start = local.indexOf("?");
  return start < 0 ? [local, ""] : [local.slice(0, start), local.slice(start + 1)];
}

/** What is needed of a response of Node's. */
interface NodeResponse {
  readonly destroyed: boolean;
  readonly writableFinished: boolean;
  once(event: "close", listener: () => void): unknown;
}

/** For bindings on Node: aborts when the response is closed before it was sent, which means that the client has gone. */
export function closeSignal(response: NodeResponse): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => response.writableFinished || gone.abort());
  if (response.destroyed) gone.abort();
  return gone.signal;
}

interface Watched {
  hasGone(): boolean;
  readonly signal: AbortSignal;
}

/** Whoever sent the request, as the engine asks for it; its signal is made for those who listen. */
class Client implements Leaving {
  readonly #view: Watched;

  constructor(view: Watched) {
    this.#view = view;
  }

  get aborted(): boolean {
    return this.#view.hasGone();
  }

  throwIfAborted(): void {
    if (this.aborted) this.#view.signal.throwIfAborted();
  }

  addEventListener(type: "abort", listener: () => void, options?: { readonly once?: boolean }): void {
    this.#view.signal.addEventListener(type, listener, options);
  }

  removeEventListener(type: "abort", listener: () => void): void {
    this.#view.signal.removeEventListener(type, listener);
  }
}

/** The client of a request: its signal, or what asks for that only when it must. */
export function clientOf<Request>(view: HttpRequestView<Request>): Leaving | undefined {
  return view.hasGone ? new Client(view as Watched) : view.signal;
}
