import type { Hasher } from "../hash.ts";
import type { MaybePromise } from "../runtime.ts";
import { type ComparableBody, canonicalJson } from "./body.ts";

/** What {@link derivedKey} hashes. */
export interface DerivedKeyOptions<Request> {
  /** What tells equal payloads apart, such as the form or the session. Required with scope `"shared"`. */
  readonly context?: ((request: Request) => string) | undefined;
  /** The members of the payload that count. Default: all. */
  readonly fields?: readonly string[] | undefined;
}

/** Makes a key from a request that carries none. */
export interface DerivedKey<Request> {
  readonly hasContext: boolean;
  readonly derive: (hash: Hasher, request: Request, body: ComparableBody) => MaybePromise<string>;
}

/** A key from context and payload, for clients that send none: equal submissions are one operation. */
export function derivedKey<Request>(options: DerivedKeyOptions<Request> = {}): DerivedKey<Request> {
  const { context, fields } = options;
  return {
    hasContext: context !== undefined,
    derive(hash, request, body) {
      const parts = ["onceward:derived", context ? `+${context(request)}` : "-", body.kind];
      if (!fields) return hash([...parts, body.content]);
      const value = (body.value ?? {}) as Record<string, unknown>;
      const chosen = fields.map((name) => [name, Object.hasOwn(value, name) ? value[name] : null]);
      return hash([...parts, canonicalJson(chosen)]);
    },
  };
}
