import type { Store } from "@onceward/core";

/** What `testStore` needs to know of a store. */
export interface StoreSuite {
  /** Names the suite in the report. */
  readonly name: string;
  /** A new instance, each time on the same backend, which must be the suite's alone. The suite closes it. */
  readonly create: () => Store | Promise<Store>;
  /**
   * What the backend physically holds of an id, read without the store: so that a missing expiry or a record that never
   * leaves is noticed.
   */
  readonly inspect?: ((id: string) => Inspection | null | Promise<Inspection | null>) | undefined;
  /** Moves the backend's clock forward, where tests can. Without it the suite waits on short leases. */
  readonly clock?: { readonly advance: (ms: number) => void | Promise<void> } | undefined;
  /** Makes the server unreachable for the store, and reachable again. */
  readonly outage?:
    | { readonly begin: () => void | Promise<void>; readonly end: () => void | Promise<void> }
    | undefined;
  /** How many round trips the stores of this suite have made so far: proves S2.6. */
  readonly roundTrips?: (() => number | Promise<number>) | undefined;
  /**
   * The backend lives in this process and reads the time from `Date` (PGlite does): then there is no second clock, and the
   * cases of S7 that shift `Date` are left out.
   */
  readonly sharesDate?: boolean | undefined;
  /** Seed of the random data. A failing case prints the seed it had. Default: 1. */
  readonly seed?: number | undefined;
  /** How long to wait for what must happen, before a case fails. Default: 10,000. */
  readonly patienceMs?: number | undefined;
}

/** What {@link StoreSuite.inspect} reads. */
export interface Inspection {
  /** What is left until the backend's own expiry of the record; null when none is set. */
  readonly expiresInMs: number | null;
  /** Everything stored under the id, in any encoding that contains binary values as they are. */
  readonly bytes?: Uint8Array | undefined;
}

/** One provable statement about a store. */
export interface StoreCase {
  /** The guarantee's number in docs/store-contract.md and what the case shows, as `S3.2 a paused owner …`. */
  readonly name: string;
  /** The guarantee, as `S3 tokens`. */
  readonly group: string;
  /** Rejects when the store breaks the guarantee. Resolves with a reason when the store lacks the optional capability. */
  readonly run: () => Promise<string | undefined>;
}
