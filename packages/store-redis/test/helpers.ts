import {
  type ClaimRequest,
  type ClaimResult,
  type Store,
  StoreRejectedError,
  StoreUnavailableError,
} from "@onceward/core";
import { expect } from "vitest";

/** An id or a token that nobody else has. */
export const unique = (): string => globalThis.crypto.randomUUID();
export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
export const HOUR_MS = 3_600_000;

/** A request with a token of its own. */
export const request = (parts: Partial<ClaimRequest> = {}): ClaimRequest => ({
  token: unique(),
  fingerprint: "fingerprint",
  leaseMs: HOUR_MS,
  retainMs: HOUR_MS,
  takeover: true,
  ...parts,
});

/** Claims, which must be granted. */
export async function claimed(store: Store, id: string, parts: Partial<ClaimRequest> = {}) {
  const wanted = request(parts);
  const result = await store.claim(id, wanted);
  expect(result).toMatchObject({ state: "claimed" });
  return { token: wanted.token, ...(result as Extract<ClaimResult, { state: "claimed" }>) };
}

/** Runs an operation from claim to completion. */
export async function completed(store: Store, id: string, outcome = "done") {
  const { token, fence } = await claimed(store, id);
  expect(await store.complete(id, token, bytes(outcome), HOUR_MS)).toBe(true);
  return { token, fence };
}

/** What a replay gives. */
export async function replayed(store: Store, id: string): Promise<string> {
  const result = await store.claim(id, request());
  expect(result).toMatchObject({ state: "completed" });
  return new TextDecoder().decode((result as Extract<ClaimResult, { state: "completed" }>).outcome);
}

/** The call fails as one that may succeed later. */
export const expectUnavailable = (call: Promise<unknown>) => expect(call).rejects.toThrow(StoreUnavailableError);

/** The call fails for good, with words that tell what to do. */
export async function expectRejected(call: Promise<unknown>, message: RegExp): Promise<void> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StoreRejectedError);
  expect((error as Error).message).toMatch(message);
  expect((error as Error).cause).toBeInstanceOf(Error);
}

/** Every call of a store that goes to the server. */
export const everyCall = (store: Store): Promise<unknown>[] => {
  const id = unique();
  return [
    store.claim(id, request()),
    store.complete(id, unique(), bytes("done"), HOUR_MS),
    store.release(id, unique()),
    store.renew(id, unique(), HOUR_MS),
    store.saveStep(id, unique(), "step", bytes("1")),
    store.find(id),
    store.remove(id),
    store.ping(),
  ];
};
