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
}
