import type { StoreEvent } from "./events.ts";

/**
 * What a plug-in store implements. Every method is one atomic step at the store, decided on the store's own clock.
 * The numbered guarantees behind it are in docs/store-contract.md; `testStore` of `@onceward/testkit` proves them.
 *
 * Ids, fingerprints and tokens are opaque URL-safe strings of at most 128 characters. Durations are whole milliseconds,
 * at least 1. Points in time are milliseconds since the Unix epoch, as the store's clock has them.
 */
export interface Store {
  /**
   * Makes the caller the runner of `id`, or tells who is. Repeated with the token of the current claim, it answers
   * `claimed` with the same fence and attempt and starts the lease anew; with the token that completed the record,
   * it answers `completed`.
   */
  claim(id: string, request: ClaimRequest): Promise<ClaimResult>;
  /**
   * Stores the outcome for `ttlMs` from now if `token` is current. True also when this token has completed the record
   * before; then nothing changes, neither the outcome nor the expiry.
   */
  complete(id: string, token: string, outcome: Uint8Array, ttlMs: number): Promise<boolean>;
  /** Ends the claim without an outcome if `token` is current. Recorded steps are kept for the claim's `retainMs`. */
  release(id: string, token: string): Promise<boolean>;
  /** Starts the lease anew, also one that has run out, if `token` is current. */
  renew(id: string, token: string, leaseMs: number): Promise<boolean>;
  /** Records a step's result if `token` is current; a step of the same name is replaced. */
  saveStep(id: string, token: string, name: string, result: Uint8Array): Promise<boolean>;
  /** The record, or null when it is absent: never seen, released, removed or expired. */
  find(id: string): Promise<StoredRecord | null>;
  /** Forgets the record and its steps, whoever runs it. True when there was a record to `find`. */
  remove(id: string): Promise<boolean>;
  /** Capability: the records that match, in no promised order, without their outcome bytes. */
  list?(filter?: ListFilter): AsyncIterable<StoredRecord>;
  /**
   * Capability: resolves when the record may no longer be running under `seenFence`, when the subscription was lost and
   * restored, or when `signal` aborts. It subscribes first and checks then, so that no completion is missed.
   */
  watch?(id: string, seenFence: number, signal: AbortSignal): Promise<void>;
  /** Capability of stores without expiry of their own: deletes at most `limit` expired records; how many it deleted. */
  sweep?(limit: number): Promise<number>;
  /** Capability: tells of what happens in the store by itself. Returns the function that ends the subscription. */
  onEvent?(listener: (event: StoreEvent) => void): () => void;
  /** Resolves when the store can be reached. */
  ping(): Promise<void>;
  /** Ends what the store opened itself. The client that the caller brought stays open. */
  close(): Promise<void>;
}

/** What a caller brings to {@link Store.claim}. */
export interface ClaimRequest {
  /** Made by the caller, new for every attempt to run: it names the lease. */
  readonly token: string;
  /** Hash of what was asked for; compared by equality. */
  readonly fingerprint: string;
  /** How long nobody else may take the record over, from now. */
  readonly leaseMs: number;
  /** How long an unfinished record is remembered after its last claim, renewal or release. */
  readonly retainMs: number;
  /** Whether a record whose lease has run out may be taken over; needs an equal fingerprint as well. */
  readonly takeover: boolean;
  /** Masked name for operators, at most 255 characters; ids are hashes and tell them nothing. */
  readonly label?: string | undefined;
}

/** What {@link Store.claim} answers. */
export type ClaimResult =
  | {
      readonly state: "claimed";
      /** Larger than that of every earlier claim of this id, also after release, removal and expiry. */
      readonly fence: number;
      /** 1, or one more than that of a former runner that died, or that released a record with steps. */
      readonly attempt: number;
      /** True when a former runner's lease ran out: nobody knows how far it got. */
      readonly takenOver: boolean;
      /** Results of the steps that former attempts recorded, by name; absent when there are none. */
      readonly steps?: ReadonlyMap<string, Uint8Array> | undefined;
    }
  | {
      readonly state: "running";
      readonly fingerprint: string;
      readonly fence: number;
      /** More than 0. */
      readonly leaseRemainingMs: number;
    }
  | {
      /** The lease is over, and `takeover` was false or the fingerprint differs. */
      readonly state: "abandoned";
      readonly fingerprint: string;
      readonly fence: number;
      readonly attempt: number;
    }
  | {
      readonly state: "completed";
      readonly fingerprint: string;
      readonly outcome: Uint8Array;
      readonly completedAt: number;
      readonly expiresAt: number;
    };

/** A record as operators see it. */
export interface StoredRecord {
  /** A hash of namespace, scope, operation and key. */
  readonly id: string;
  /** `abandoned`: claimed, and its lease is over. */
  readonly state: "running" | "abandoned" | "completed";
  readonly fingerprint: string;
  /** Names the current claim; with it an operator can `release`. */
  readonly token: string;
  readonly fence: number;
  readonly attempt: number;
  /** Masked: the operation, or the scope, and what is shown of the key. */
  readonly label?: string | undefined;
  /** When the current attempt claimed it. */
  readonly claimedAt: number;
  /** What is left of the lease; 0 unless running. */
  readonly leaseRemainingMs: number;
  /** When the record is forgotten. */
  readonly expiresAt: number;
  /** Names of the recorded steps; empty once completed. */
  readonly steps: readonly string[];
  /** Only when completed. */
  readonly completedAt?: number | undefined;
  /** Only when completed, and only from `find`. */
  readonly outcome?: Uint8Array | undefined;
}

/** Which records {@link Store.list} yields; nothing means all. */
export interface ListFilter {
  readonly state?: StoredRecord["state"] | undefined;
  /** At most so many. */
  readonly limit?: number | undefined;
}
