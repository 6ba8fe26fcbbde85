import type { ClaimRequest, ClaimResult, Store } from "@onceward/core";
import { expect } from "vitest";
import type { StoreCase, StoreSuite } from "./suite.ts";
import { eventually } from "./waiting.ts";

/** Far more than any run of the suite takes. */
export const hourMs = 3_600_000;

/** A claim that succeeded. */
export type Claimed = Extract<ClaimResult, { state: "claimed" }>;
/** The names of the optional methods that cases ask for. */
export type Capability = "list" | "watch" | "sweep";
type Capable<Needed extends Capability> = Store & Required<Pick<Store, Needed>>;

/** What a case works with. */
export interface CaseContext<Needed extends Capability = never> {
  readonly suite: StoreSuite;
  readonly store: Capable<Needed>;
  /** One more instance on the same backend. */
  readonly another: () => Promise<Capable<Needed>>;
  /** A lease or TTL that `pass` outlasts soon. */
  readonly shortMs: number;
  /** Returns when `ms` have passed on the store's clock: moves it, or sees a lease of that length run out. */
  readonly pass: (ms: number) => Promise<void>;
  readonly patienceMs: number;
}

/** Declares a case of a group. */
export type DeclareCase = <Needed extends Capability = never>(
  name: string,
  run: (context: CaseContext<Needed>) => Promise<void>,
  ...needed: readonly Needed[]
) => void;
/** A file of cases: declares them for one suite. */
export type Group = (declare: DeclareCase, suite: StoreSuite) => void;

/** A name that no other case uses, in the form that core's ids, tokens and fingerprints have. */
export const unique = (): string => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");

/** A claim of a new token that lasts as long as the suite, unless the difference says otherwise. */
export const request = (difference: Partial<ClaimRequest> = {}): ClaimRequest => ({
  token: unique(),
  fingerprint: "fingerprint",
  leaseMs: hourMs,
  retainMs: 10 * hourMs,
  takeover: true,
  ...difference,
});

/** Claims, and fails unless it got the claim. */
export async function claimed(store: Store, id: string, request: ClaimRequest): Promise<Claimed> {
  const result = await store.claim(id, request);
  expect(result).toMatchObject({ state: "claimed" });
  return result as Claimed;
}

/** Text as bytes. */
export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Compares bytes, whatever subclass of Uint8Array carries them. */
export function expectBytes(actual: Uint8Array | undefined, expected: Uint8Array): void {
  expect(actual).toBeInstanceOf(Uint8Array);
  if (Buffer.compare(actual!, expected) === 0) return;
  const show = (value: Uint8Array) => `${value.length} bytes: ${Buffer.from(value.subarray(0, 64)).toString("hex")}`;
  expect(show(actual!), "bytes must come back as they were given").toBe(`${show(expected)} (all of them)`);
}

/** Makes a runnable case of a declared one. */
export function caseOf<Needed extends Capability>(
  suite: StoreSuite,
  group: string,
  name: string,
  run: (context: CaseContext<Needed>) => Promise<void>,
  needed: readonly Needed[],
): StoreCase {
  const patienceMs = suite.patienceMs ?? 10_000;
  return {
    name,
    group,
    async run() {
      const created: Store[] = [];
      const another = async () => {
        const store = await suite.create();
        created.push(store);
        return store as Capable<Needed>;
      };
      try {
        const store = await another();
        const missing = needed.filter((method) => store[method] === undefined);
        if (missing.length > 0) return `the store has no ${missing.join(", no ")}`;
        const shortMs = suite.clock ? 1_000 : 60;
        const pass = (ms: number) => passTime(suite, store, ms, patienceMs);
        await run({ suite, store, another, shortMs, pass, patienceMs });
        return undefined;
      } finally {
        await Promise.all(created.map((store) => store.close()));
      }
    },
  };
}

async function passTime(suite: StoreSuite, store: Store, ms: number, patienceMs: number): Promise<void> {
  if (suite.clock) return suite.clock.advance(ms);
  const probe = unique();
  const { token } = request();
  await claimed(store, probe, request({ token, leaseMs: ms }));
  await eventually(
    `a lease of ${ms} ms runs out`,
    async () => (await store.find(probe))?.state === "abandoned",
    patienceMs + ms,
  );
  await store.release(probe, token);
}
