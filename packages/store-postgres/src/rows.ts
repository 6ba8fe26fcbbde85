import { type ClaimResult, type StoredRecord, StoreRejectedError } from "@onceward/core";

/** Reads the row that claim.sql returns; its first column is a list of words, of which none has a space. */
export function decodeClaim([head, outcome]: readonly unknown[]): ClaimResult {
  const words = (head as string).split(" ");
  // Else the first word is a fingerprint, which is URL-safe.
  if (words[0] === "+") return decodeGranted(words);
  const [fingerprint = "", fence, attempt, leaseSeconds, expiresAt, completedAt] = words;
  if (completedAt !== undefined) {
    return {
      state: "completed",
      fingerprint,
      outcome: bytesOf(outcome),
      completedAt: pointInTime(completedAt),
      expiresAt: pointInTime(expiresAt),
    };
  }
  const leaseRemainingMs = Math.ceil(milliseconds(leaseSeconds));
  if (leaseRemainingMs > 0) return { state: "running", fingerprint, fence: Number(fence), leaseRemainingMs };
  return { state: "abandoned", fingerprint, fence: Number(fence), attempt: Number(attempt) };
}

function decodeGranted([, fence, attempt, takenOver, ...words]: readonly string[]): ClaimResult {
  const steps = new Map<string, Uint8Array>();
  for (let index = 0; index < words.length; index += 2) {
    steps.set(unescapeText(words[index]!), bytesOf(Buffer.from(words[index + 1]!, "hex")));
  }
  return {
    state: "claimed",
    fence: Number(fence),
    attempt: Number(attempt),
    takenOver: takenOver === "t",
    ...(steps.size > 0 && { steps }),
  };
}

/** Reads the columns `{{record}}` of find.sql and list.sql, and the outcome behind them if there is one. */
export function decodeRecord(row: readonly unknown[]): StoredRecord {
  const [
    fence,
    id,
    state,
    fingerprint,
    token,
    attempt,
    label,
    claimedAt,
    leaseSeconds,
    expiresAt,
    steps,
    completedAt,
    outcome,
  ] = row;
  return {
    id: id as string,
    state: state as StoredRecord["state"],
    fingerprint: fingerprint as string,
    token: token as string,
    fence: Number(fence),
    attempt: Number(attempt),
    ...(label !== null && { label: unescapeText(label as string) }),
    claimedAt: pointInTime(claimedAt),
    leaseRemainingMs: state === "running" ? Math.ceil(milliseconds(leaseSeconds)) : 0,
    expiresAt: pointInTime(expiresAt),
    steps: (steps as string[]).map(unescapeText),
    ...(completedAt !== null && { completedAt: pointInTime(completedAt) }),
    // Undefined in a list.
    ...(state === "completed" && outcome !== undefined && { outcome: bytesOf(outcome) }),
  };
}

/**
 * Postgres can't hold every string: not U+0000, not half of a surrogate pair, and outside of UTF-8 databases much less.
 * Printable ASCII stays as it is, for the operator who reads the table.
 */
export const escapeText = (text: string) =>
  text.replace(/[^ -~]|\\/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** The same for what must be one word, as names of steps are in the answer to a claim. */
export const escapeWord = (text: string) => escapeText(text).replaceAll(" ", "\\u0020");

const unescapeText = (text: string) =>
  text.replace(/\\u([0-9a-f]{4})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

/** Not a Buffer, which behaves differently (`slice`) and which not every runtime has. */
function bytesOf(bytes: unknown): Uint8Array {
  if (bytes instanceof Uint8Array) return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  throw new StoreRejectedError(
    `A stored outcome is ${bytes === null ? "missing" : `a ${typeof bytes}`} and not bytes. Either the record is corrupt: ` +
      "remove it, and its operation can run again. Or a type parser of the driver changes `bytea`: leave that to the default.",
  );
}

/** The server counts microseconds, and says seconds. */
const milliseconds = (seconds: unknown) => Math.round(Number(seconds) * 1_000_000) / 1_000;

const pointInTime = (epochSeconds: unknown) => Math.floor(milliseconds(epochSeconds));
