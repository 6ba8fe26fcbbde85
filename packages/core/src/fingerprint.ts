import { InvalidOptionError } from "./errors.ts";
import type { Hasher } from "./hash.ts";
import type { MaybePromise } from "./runtime.ts";
import { serialize } from "./value.ts";

/**
 * Hash of what was asked for. Plain data is compared with keys sorted at every depth; bytes as bytes; no payload is
 * not the same as an empty one.
 */
export function fingerprint(hash: Hasher, payload: unknown): MaybePromise<string> {
  if (payload instanceof Uint8Array) return hash(["onceward:bytes", payload]);
  try {
    return hash(["onceward:value", serialize(payload, "sorted")]);
  } catch (cause) {
    throw new InvalidOptionError(
      `The payload can't be compared with that of a duplicate: ${(cause as Error).message}. Pass plain data as payload, or your own \`fingerprint\``,
      { cause },
    );
  }
}

/** What every store can hold: a word that is safe in URLs. */
const storable = /^[\w.~-]{1,128}$/;

/**
 * A fingerprint of the caller's own making. Stores compare it as it is where they can hold it; what they can't (spaces,
 * any length) they would refuse, or take for something else.
 */
export function givenFingerprint(hash: Hasher, given: string): MaybePromise<string> {
  // As JSON, because half a surrogate pair has no UTF-8.
  return storable.test(given) ? given : hash(["onceward:given", JSON.stringify(given)]);
}

/** Stands for every payload where payloads don't matter. */
export const anyFingerprint = "any";
