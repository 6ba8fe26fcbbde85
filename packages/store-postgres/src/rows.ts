import type { ClaimResult, StoredRecord } from "@onceward/core";

/** Reads the row that claim.sql returns; its first column is a list of words, of which none has a space. */
export function decodeClaim([head, outcome, stepNames, stepResults]: readonly unknown[]): ClaimResult {
  const [state, first = "", second, third] = (head as string).split(" ");
  switch (state) {
    case "claimed":
      return {
        state,
        fence: Number(first),
        attempt: Number(second),
        takenOver: third === "t",
        ...stepsOf(stepNames as string[] | null, stepResults as Uint8Array[]),
      };
    case "completed":
      return {
        state,
        fingerprint: first,
        outcome: bytesOf(outcome as Uint8Array),
        completedAt: pointInTime(second),
        expiresAt: pointInTime(third),
      };
    case "running":
      return { state, fingerprint: first, fence: Number(second), leaseRemainingMs: Math.ceil(Number(third)) };
    default:
      return { state: "abandoned", fingerprint: first, fence: Number(second), attempt: Number(third) };
  }
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
    leaseMs,
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
    leaseRemainingMs: state === "running" ? Math.ceil(Number(leaseMs)) : 0,
    expiresAt: pointInTime(expiresAt),
    steps: (steps as string[]).map(unescapeText),
    ...(completedAt !== null && { completedAt: pointInTime(completedAt) }),
    ...(outcome instanceof Uint8Array && { outcome: bytesOf(outcome) }),
  };
}

/**
 * Postgres can't hold every string: not U+0000, not half of a surrogate pair, and outside of UTF-8 databases much less.
 * Printable ASCII stays as it is, for the operator who reads the table.
 */
export const escapeText = (text: string) =>
  text.replace(/[^ -~]|\\/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

const unescapeText = (text: string) =>
  text.replace(/\\u([0-9a-f]{4})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

function stepsOf(names: readonly string[] | null, results: readonly Uint8Array[]): { steps?: Map<string, Uint8Array> } {
  if (names === null || names.length === 0) return {};
  return { steps: new Map(names.map((name, index) => [unescapeText(name), bytesOf(results[index]!)])) };
}

/** Not a Buffer, which behaves differently (`slice`) and which not every runtime has. */
const bytesOf = (bytes: Uint8Array) => new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** The server counts microseconds. */
const pointInTime = (epochMs: unknown) => Math.floor(Number(epochMs));
