import { type MaybePromise, nodeBuffer, nodeCrypto } from "./runtime.ts";

/** Text or bytes, one after the other, each with its length in front, so that no choice of parts collides. */
export type HashPart = string | Uint8Array;

/** SHA-256 of length-prefixed parts, base64url; with a secret an HMAC, whose input can't be guessed by trying. */
export type Hasher = (parts: readonly HashPart[]) => MaybePromise<string>;

const utf8 = new TextEncoder();

/** Makes the {@link Hasher} for a secret, or the plain one. */
export function createHasher(secret?: Uint8Array | undefined): Hasher {
  if (!nodeCrypto) return (parts) => webHash(parts, secret);
  const { createHash, createHmac } = nodeCrypto;
  // Since Node 20.12.
  const hashText: typeof nodeCrypto.hash | undefined = nodeCrypto.hash;
  return (parts) => {
    // Text in one call instead of two for each part: 0.5 µs instead of 1.3 for a record id, and no object to collect.
    const text = secret ? undefined : joined(parts);
    if (hashText && text !== undefined) return hashText("sha256", text, "base64url");
    const hash = secret ? createHmac("sha256", secret) : createHash("sha256");
    for (const part of parts) hash.update(lengthPrefix(part)).update(part);
    return hash.digest("base64url");
  };
}

/** All parts as one text, unless there are bytes among them. */
function joined(parts: readonly HashPart[]): string | undefined {
  let text = "";
  for (const part of parts) {
    if (typeof part !== "string") return undefined;
    text += lengthPrefix(part) + part;
  }
  return text;
}

/** The length counts UTF-8 bytes, and so does not depend on the runtime. */
function lengthPrefix(part: HashPart): string {
  return `${typeof part === "string" ? utf8Length(part) : part.byteLength}:`;
}

function utf8Length(text: string): number {
  if (nodeBuffer) return nodeBuffer.byteLength(text);
  let length = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) length += 1;
    else if (unit < 0x800) length += 2;
    else if (unit >= 0xd800 && unit < 0xdc00 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00) {
      length += 4;
      index += 1;
    } else length += 3;
  }
  return length;
}

async function webHash(parts: readonly HashPart[], secret: Uint8Array | undefined): Promise<string> {
  const chunks = parts.flatMap((part) => [
    utf8.encode(lengthPrefix(part)),
    typeof part === "string" ? utf8.encode(part) : part,
  ]);
  const input = concatBytes(chunks);
  const { subtle } = globalThis.crypto;
  const digest = secret
    ? await subtle.sign(
        "HMAC",
        await subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]),
        input,
      )
    : await subtle.digest("SHA-256", input);
  return toBase64Url(new Uint8Array(digest));
}

/** One array of all the chunks. */
export function concatBytes(chunks: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0));
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
}

/** Unpadded base64url. */
export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Standard base64. */
export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let start = 0; start < bytes.length; start += 0x2000) {
    binary += String.fromCharCode(...bytes.subarray(start, start + 0x2000));
  }
  return btoa(binary);
}

/** The bytes of standard base64. */
export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
