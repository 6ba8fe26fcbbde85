import { InvalidOptionError } from "../errors.ts";
import { toBase64 } from "../hash.ts";

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

/**
 * JSON with keys sorted at every depth (numbers as JavaScript reads them, the last of two equal keys counts), forms
 * sorted by name with repeated values in their order, anything else byte for byte.
 */
export function comparableBody(body: HttpBody, contentType: string): ComparableBody {
  const mediaType = (contentType.split(";", 1)[0] ?? "").trim().toLowerCase();
  const isJson = mediaType.endsWith("/json") || mediaType.endsWith("+json");
  const isForm = mediaType === "application/x-www-form-urlencoded";
  switch (body.kind) {
    case "none":
      return { kind: "none", content: "" };
    case "unseen":
      throw unseen(body.remedy);
    case "bytes":
      if (body.bytes.byteLength === 0) return { kind: "none", content: "" };
      if (isJson) return jsonOf(body.bytes) ?? { kind: "bytes", content: body.bytes };
      if (isForm) {
        const text = latin1(body.bytes);
        return { kind: "form", content: sortedPairs(text), value: Object.fromEntries(new URLSearchParams(text)) };
      }
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

function unseen(remedy: string): InvalidOptionError {
  return new InvalidOptionError(`The request's body can't be seen, so duplicates can't be recognised: ${remedy}`);
}

function jsonOf(bytes: Uint8Array): ComparableBody | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return { kind: "json", content: canonicalJson(value), value };
  } catch {
    // Not JSON, whatever it says of itself: the handler will tell the client.
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

/** Equal JSON gives equal text. Keeps its own stack: a body of 100,000 brackets must not end the process's. */
export function canonicalJson(value: unknown): string {
  const parts: string[] = [];
  // What is left to write, last first: values, and text that is ready.
  const todo: ({ readonly text: string } | { readonly value: unknown })[] = [{ value }];
  for (let next = todo.pop(); next; next = todo.pop()) {
    if ("text" in next) {
      parts.push(next.text);
    } else if (Array.isArray(next.value)) {
      parts.push("[");
      todo.push({ text: "]" });
      for (let index = next.value.length - 1; index >= 0; index--)
        todo.push({ text: "," }, { value: next.value[index] as unknown });
    } else if (typeof next.value === "object" && next.value !== null && !("toJSON" in next.value)) {
      if (next.value instanceof Uint8Array) {
        parts.push(`bytes:${toBase64(next.value)}`);
        continue;
      }
      const members = next.value as Record<string, unknown>;
      parts.push("{");
      todo.push({ text: "}" });
      for (const key of Object.keys(members).sort().reverse())
        if (members[key] !== undefined)
          todo.push({ text: "," }, { value: members[key] }, { text: `${JSON.stringify(key)}:` });
    } else if (typeof next.value === "bigint") {
      parts.push(`${next.value}n`);
    } else {
      parts.push(JSON.stringify(next.value) ?? "null");
    }
  }
  return parts.join("");
}
