import type { StoredRecord } from "@onceward/core";

/** A record as the database keeps it. Bytes are Base64, because JSON can't carry them. */
export interface Document {
  readonly state: "claimed" | "released" | "completed";
  readonly token: string;
  readonly fingerprint: string;
  readonly fence: number;
  readonly attempt: number;
  readonly takenOver: boolean;
  readonly label?: string | undefined;
  readonly claimedAt: number;
  readonly leaseEndsAt: number;
  readonly retainMs: number;
  readonly expiresAt: number;
  /** Pairs, not an object: a step may be called `__proto__`. */
  readonly steps: readonly (readonly [name: string, result: string])[];
  readonly completedAt?: number | undefined;
  readonly outcome?: string | undefined;
}

export const encode = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
export const decode = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "base64"));

/** The record that is there: an expired one is not, swept or not. */
export function read(text: string | null, now: number): Document | undefined {
  const document = text === null ? undefined : (JSON.parse(text) as Document);
  return document && now < document.expiresAt ? document : undefined;
}

/** The record if `token` is current. Whether its lease is over doesn't matter: nobody has taken it over. */
export function owned(text: string | null, now: number, token: string): Document | undefined {
  const document = read(text, now);
  return document?.state === "claimed" && document.token === token ? document : undefined;
}

/** How the record looks to operators; a released one doesn't exist for them. */
export function describe(id: string, document: Document | undefined, now: number): StoredRecord | null {
  if (!document || document.state === "released") return null;
  const { token, fingerprint, fence, attempt, label, claimedAt, completedAt, expiresAt, state } = document;
  const leaseRemainingMs = state === "claimed" ? Math.max(0, document.leaseEndsAt - now) : 0;
  return {
    id,
    state: state === "completed" ? "completed" : leaseRemainingMs > 0 ? "running" : "abandoned",
    ...{ token, fingerprint, fence, attempt, label, claimedAt, completedAt, expiresAt, leaseRemainingMs },
    steps: document.steps.map(([name]) => name),
  };
}
