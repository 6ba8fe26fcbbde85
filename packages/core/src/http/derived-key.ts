import { InvalidOptionError, KeyMissingError } from "../errors.ts";
import type { Hasher } from "../hash.ts";
import { checkOptions, functionOr, text } from "../options.ts";
import type { MaybePromise } from "../runtime.ts";
import { type ComparableBody, canonicalJson, memberOf } from "./body.ts";
import { listOf } from "./resolve-options.ts";

/** What {@link derivedKey} hashes. */
export interface DerivedKeyOptions<Request> {
  /**
   * What tells equal payloads apart, such as the form or the session: a function, or the name of a member of the body
   * that the client must then send. Required with scope `"shared"`.
   */
  readonly context?: string | ((request: Request) => string) | undefined;
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
  checkOptions("derivedKey", options, { context: functionOr(text), fields: listOf(text, "a list of names") });
  const { context, fields } = options;

  function contextOf(request: Request, body: ComparableBody): string {
    if (context === undefined) return "-";
    if (typeof context === "function") {
      const found: unknown = context(request);
      if (typeof found === "string" && found !== "") return `+${found}`;
      throw new InvalidOptionError("derivedKey: context returned nothing; equal payloads of all callers would be one");
    }
    const member = memberOf(body, context);
    if (member !== undefined) return `+${canonicalJson(member)}`;
    throw new KeyMissingError(`Send ${context} in the body, or a key of your choice in the header`);
  }

  return {
    hasContext: context !== undefined,
    derive(hash, request, body) {
      const parts = ["onceward:derived", contextOf(request, body), body.kind];
      if (!fields) return hash([...parts, body.content]);
      const chosen = fields.map((name) => [name, memberOf(body, name)].filter((part) => part !== undefined));
      return hash([...parts, canonicalJson(chosen)]);
    },
  };
}
