import { BodyTooLargeError, InvalidOptionError } from "../errors.ts";
import { toBase64 } from "../hash.ts";
import { sorted } from "../value.ts";

/** A request's body, as far as the framework lets it be seen. */
export type HttpBody =
  | { readonly kind: "none" }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  /** What a parser made of it. */
  | { readonly kind: "parsed"; readonly value: unknown }
  /** There is one, and it can't be seen. `remedy` ends the sentence "…, so duplicates can't be recognised: " */
  | { readonly kind: "unseen"; readonly remedy: string };

/** A body in the form in which it is compared. */
export interface ComparableBody {
  readonly kind: "none" | "json" | "form" | "bytes";
  readonly content: string | Uint8Array;
  /** The parsed value, where there is one. */
  readonly value?: unknown;
}

const utf8 = new TextEncoder();
const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * JSON with keys sorted at every depth (numbers as JavaScript reads them, the last of two equal keys counts), forms
 * sorted by name with repeated values in their order, anything else byte for byte.
 */
export function comparableBody(body: HttpBody, contentType: string): ComparableBody {
  const mediaType = (contentType.split(";", 1)[0] as string).trim().toLowerCase();
  const isJson = mediaType.endsWith("/json") || mediaType.endsWith("+json");
  switch (body.kind) {
    case "none":
      return { kind: "none", content: "" };
    case "unseen":
      throw unseen(body.remedy);
    case "bytes":
      if (body.bytes.byteLength === 0) return { kind: "none", content: "" };
      if (isJson) return jsonOf(body.bytes) ?? { kind: "bytes", content: body.bytes };
      if (mediaType === "application/x-www-form-urlencoded")
        return { kind: "form", content: sortedPairs(latin1(body.bytes)) };
      return { kind: "bytes", content: body.bytes };
    case "parsed": {
      const { value } = body;
      if (value instanceof Uint8Array) return comparableBody({ kind: "bytes", bytes: value }, contentType);
      if (isJson) return { kind: "json", content: canonicalJson(value), value };
      if (typeof value === "string") return { kind: "bytes", content: utf8.encode(value) };
      if (mediaType.startsWith("multipart/"))
        throw unseen("put idempotency before the multipart parser, or choose the parts with `fingerprint`");
      return { kind: "form", content: canonicalJson(value), value };
    }
  }
}

/** A member of the body at its top: its value, in a form that was not parsed the list of them; undefined when absent. */
export function memberOf({ kind, content, value }: ComparableBody, name: string): unknown {
  if (kind === "form" && value === undefined) {
    const values = new URLSearchParams(content as string).getAll(name);
    return values.length === 0 ? undefined : values;
  }
  const members = (value ?? {}) as Record<string, unknown>;
  return Object.hasOwn(members, name) ? members[name] : undefined;
}

function unseen(remedy: string): InvalidOptionError {
  return new InvalidOptionError(`The request's body can't be seen, so duplicates can't be recognised: ${remedy}`);
}

function jsonOf(bytes: Uint8Array): ComparableBody | undefined {
  try {
    const value: unknown = JSON.parse(strictUtf8.decode(bytes));
    return { kind: "json", content: canonicalJson(value), value };
  } catch {
    // Not JSON, whatever it says of itself, or absurdly deep: the handler will tell the client.
    return undefined;
  }
}

/** One byte, one character: what is not ASCII stays distinct without being valid UTF-8. */
function latin1(bytes: Uint8Array): string {
  let text = "";
  for (let start = 0; start < bytes.length; start += 0x2000)
    text += String.fromCharCode(...bytes.subarray(start, start + 0x2000));
  return text;
}

/** `b=1&a=2` as `a=2&b=1`; percent-encoding is left alone, so nothing distinct becomes equal. */
export function sortedPairs(query: string): string {
  if (!query.includes("&")) return query;
  const name = (pair: string) => pair.split("=", 1)[0] as string;
  return query
    .split("&")
    .map((pair) => [name(pair), pair] as const)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, pair]) => pair)
    .join("&");
}

/** An array or object on the way down to what is being written. */
interface Frame {
  readonly members: object;
  /** Sorted; undefined for an array. */
  readonly keys: readonly string[] | undefined;
  readonly length: number;
  next: number;
  separator: "" | ",";
}

/** Deeper than any honest body; only parsers that make cycles (YAML) lead there. */
const maxDepth = 100_000;

/** Equal JSON gives equal text. Keeps its own stack: a body of 10,000 brackets must not end the process's. */
export function canonicalJson(root: unknown): string {
  let text = "";
  const frames: Frame[] = [];

  function begin(value: unknown): void {
    const plain = plainOf(value);
    if (typeof plain !== "object" || plain === null) {
      text += scalar(plain);
    } else if (plain instanceof Uint8Array) {
      // No JSON looks like that.
      text += `bytes:${toBase64(plain)}`;
    } else {
      if (frames.length === maxDepth)
        throw new BodyTooLargeError(`The request's body is nested more than ${maxDepth} levels deep`);
      const keys = Array.isArray(plain) ? undefined : sorted(Object.keys(plain));
      const { length } = keys ?? (plain as unknown[]);
      if (length === 0) refuseOpaque(plain);
      text += keys ? "{" : "[";
      frames.push({ members: plain, keys, length, next: 0, separator: "" });
    }
  }

  begin(root);
  for (let frame = frames.at(-1); frame; frame = frames.at(-1)) {
    const { members, keys } = frame;
    if (frame.next === frame.length) {
      text += keys ? "}" : "]";
      frames.pop();
      continue;
    }
    const name = keys ? (keys[frame.next] as string) : frame.next;
    const member = (members as Record<string | number, unknown>)[name];
    frame.next += 1;
    if (keys && member === undefined) continue;
    text += keys ? `${frame.separator}${JSON.stringify(name)}:` : frame.separator;
    frame.separator = ",";
    begin(member);
  }
  return text;
}

/** As JSON.stringify sees it, and entries of what only iterates: Map, Set, FormData, URLSearchParams. */
function plainOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Uint8Array) return value;
  const { toJSON } = value as { toJSON?: unknown };
  // A member of a JSON body may have that name too.
  if (typeof toJSON === "function") return toJSON.call(value);
  return Symbol.iterator in value ? [...(value as Iterable<unknown>)] : value;
}

/** An instance of a class that shows nothing would be equal to every other. */
function refuseOpaque(value: object): void {
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (Array.isArray(value) || prototype === null || prototype === Object.prototype) return;
  throw unseen(
    `a parser made an instance of ${value.constructor.name} of it, whose content is hidden; choose what counts with \`fingerprint\``,
  );
}

function scalar(value: unknown): string {
  if (typeof value === "bigint") return `${value}n`;
  // 1e400 is Infinity to JavaScript, must not be the same as null, and is still JSON.
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) return value > 0 ? "1e999" : "-1e999";
  return JSON.stringify(value) ?? "null";
}
