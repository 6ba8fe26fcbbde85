import type { Codec } from "./codec.ts";
import { type Context, RunContext } from "./context.ts";
import { isOncewardError, type LeaseLossReason, type OncewardError, StoreUnavailableError } from "./errors.ts";
import type { NotKeptReason, ReleaseReason, RunEvent, StoreCall } from "./events.ts";
import type { Completion } from "./flight.ts";
import type { Hasher } from "./hash.ts";
import { Lease, type LeaseHolder } from "./lease.ts";
import type { Policy } from "./options.ts";
import { markerOutcome, type Outcome, packOutcome, unpackOutcome } from "./outcome.ts";
import { monotonicNow, sleep, startTimer } from "./runtime.ts";
import type { ClaimRequest, ClaimResult, Store } from "./store.ts";

/** One operation of one caller, named and fingerprinted. */
export interface Operation {
  readonly id: string;
  readonly operation: string | undefined;
  readonly scope: string | undefined;
  readonly key: string;
  readonly fingerprint: string;
}

/** An event about an operation, before it is said which. */
export type EventBody = RunEvent extends infer Event
  ? Event extends RunEvent
    ? Omit<Event, "at" | "id" | "operation" | "scope" | "key">
    : never
  : never;

/** What engine and executions share. */
export interface Surroundings {
  readonly store: Store;
  readonly codec: Codec | undefined;
  readonly hash: Hasher;
  readonly emit: (operation: Operation, event: EventBody) => void;
  /** True once nobody waits for background work any longer. */
  readonly stopped: () => boolean;
}

/** A confirmed claim, or with the store down (`failOpen`) only the request for one. */
export interface Hold {
  readonly request: ClaimRequest;
  readonly sentAt: number;
  readonly claim: Extract<ClaimResult, { state: "claimed" }> | undefined;
}

/** How an execution ended for its caller. */
export type Settlement =
  /** The store has confirmed the outcome. */
  | { readonly kind: "kept"; readonly outcome: Outcome }
  /** The result is true, but the store has not confirmed it. */
  | { readonly kind: "unconfirmed"; readonly outcome: Outcome }
  /** Another runner holds the record; its outcome, when there is one already. */
  | { readonly kind: "superseded"; readonly winner: Completion | undefined }
  /** Nothing was kept: the next attempt runs. */
  | { readonly kind: "released" }
  /** Nobody says what happened: the record stays until its lease is over. */
  | { readonly kind: "abandoned" };

/** A caller's turn to run: it has the context for the work, and ends in `complete`, `release` or `abandon`. */
export class Execution implements LeaseHolder {
  readonly operation: Operation;
  readonly policy: Policy;
  readonly context: Context;
  /** True when a former runner's lease ran out: nobody knows how far it got. */
  readonly takenOver: boolean;
  readonly #around: Surroundings;
  readonly #request: ClaimRequest;
  readonly #lease: Lease;
  readonly #startedAt = monotonicNow();
  readonly #onSettled: (settlement: Settlement) => void;
  readonly #onFinished: () => void;
  #fence: number;
  #confirmed: boolean;

  constructor(
    around: Surroundings,
    operation: Operation,
    policy: Policy,
    hold: Hold,
    onSettled: (settlement: Settlement) => void,
    onFinished: () => void,
  ) {
    this.#around = around;
    this.operation = operation;
    this.policy = policy;
    this.#request = hold.request;
    this.#confirmed = hold.claim !== undefined;
    this.#fence = hold.claim?.fence ?? 0;
    this.takenOver = hold.claim?.takenOver ?? false;
    this.#onSettled = onSettled;
    this.#onFinished = onFinished;
    this.#lease = new Lease(this, hold.request.leaseMs, policy.maxRunMs, hold.claim && hold.sentAt);
    this.context = new RunContext({
      around,
      operation,
      lease: this.#lease,
      token: hold.request.token,
      fence: () => this.#fence,
      attempt: hold.claim?.attempt ?? 1,
      steps: hold.claim?.steps,
      confirmed: () => this.#confirmed,
    });
  }

  /**
   * Keeps the outcome. Resolves when the store has confirmed it, or after `completeWaitMs`; the store is then asked on in
   * the background until it answers, until another runner has the record, or until `retainMs` have passed.
   */
  complete(outcome: Outcome): Promise<Settlement> {
    this.#lease.end();
    return this.#settle(this.#keep(outcome, monotonicNow() - this.#startedAt), { kind: "unconfirmed", outcome });
  }

  /** Lets the next attempt run. */
  release(reason: ReleaseReason): Promise<Settlement> {
    this.#lease.end();
    return this.#settle(this.#giveBack(reason, monotonicNow() - this.#startedAt), { kind: "released" });
  }

  /** Stops renewing and says nothing: the record becomes claimable as one whose runner died. */
  async abandon(): Promise<void> {
    this.#lease.end();
    try {
      // The shortest lease there is: why keep the next attempt waiting?
      if (this.#confirmed) await this.#around.store.renew(this.operation.id, this.#request.token, 1);
    } catch (error) {
      this.#storeError("renew", error);
    }
    this.#onSettled({ kind: "abandoned" });
    this.#onFinished();
  }

  /** What the store says when that comes in time, else `late`. No async functions in between: each costs 1 µs a request. */
  #settle(asking: Promise<Settlement>, late: Settlement): Promise<Settlement> {
    return new Promise((resolve) => {
      let settled = false;
      const settle = (settlement: Settlement) => {
        if (settled) return;
        settled = true;
        this.#onSettled(settlement);
        resolve(settlement);
      };
      const stopTimer = startTimer(this.policy.completeWaitMs, () => settle(late));
      void asking.then((settlement) => {
        stopTimer();
        this.#onFinished();
        settle(settlement);
      });
    });
  }

  async #keep(original: Outcome, runMs: number): Promise<Settlement> {
    const { store, codec } = this.#around;
    const { id } = this.operation;
    let outcome = original;
    const tooLarge = original.kind !== "marker" && original.payload.byteLength > this.policy.maxOutcomeBytes;
    if (tooLarge) outcome = this.#marker("too-large", original);
    let bytes: Uint8Array;
    try {
      const packed = packOutcome(outcome, id, codec);
      bytes = packed instanceof Promise ? await packed : packed;
    } catch (error) {
      this.#storeError("complete", error);
      outcome = this.#marker("not-encodable", original);
      bytes = await packOutcome(outcome, id, undefined);
    }
    const sentAt = monotonicNow();
    for (let unanswered = 0; ; ) {
      try {
        if (!this.#confirmed && !(await this.#confirm())) return { kind: "unconfirmed", outcome: original };
        const kept = await store.complete(id, this.#request.token, bytes, this.policy.ttlMs);
        if (!kept) return unanswered ? { kind: "unconfirmed", outcome: original } : await this.#superseded();
        const storeMs = monotonicNow() - sentAt;
        this.#emit({ type: "completed", fence: this.#fence, runMs, storeMs, bytes: bytes.byteLength });
        return { kind: "kept", outcome };
      } catch (error) {
        if (this.#confirmed && isOncewardError(error, "ERR_STORE_REJECTED") && outcome.kind !== "marker") {
          this.#storeError("complete", error);
          outcome = this.#marker("rejected", original);
          bytes = await packOutcome(outcome, id, undefined);
        } else if (!(await this.#mayRepeat("complete", error, ++unanswered, sentAt))) {
          return { kind: "unconfirmed", outcome: original };
        }
      }
    }
  }

  async #giveBack(reason: ReleaseReason, runMs: number): Promise<Settlement> {
    const sentAt = monotonicNow();
    for (let unanswered = 0; ; ) {
      try {
        const released = await this.#around.store.release(this.operation.id, this.#request.token);
        if (!released && this.#confirmed && !unanswered) return await this.#superseded();
        this.#emit({ type: "released", fence: this.#fence, runMs, reason });
        return { kind: "released" };
      } catch (error) {
        if (!(await this.#mayRepeat("release", error, ++unanswered, sentAt))) return { kind: "released" };
      }
    }
  }

  /** After a call that is safe to repeat: waits for its turn, longer each time; false when it is to be given up. */
  async #mayRepeat(call: StoreCall, error: unknown, unanswered: number, sentAt: number): Promise<boolean> {
    const { retainMs, leaseMs } = this.#request;
    const delayMs = Math.min(25 * 2 ** (unanswered - 1), Math.max(leaseMs / 3, 25));
    const again = isOncewardError(this.#storeError(call, error), "ERR_STORE_UNAVAILABLE");
    if (!again || monotonicNow() + delayMs >= sentAt + retainMs || this.#around.stopped()) return false;
    await sleep(delayMs);
    return true;
  }

  /** Another runner has the record. Its outcome answers our caller too, when it is there. */
  async #superseded(): Promise<Settlement> {
    if (!this.#lease.lost) this.#emit({ type: "lease-lost", fence: this.#fence, reason: "superseded" });
    const { id, fingerprint } = this.operation;
    try {
      const record = await this.#around.store.find(id);
      if (record?.outcome && record.fingerprint === fingerprint) {
        const outcome = await unpackOutcome(record.outcome, id, this.#around.codec);
        const { expiresAt, completedAt = expiresAt } = record;
        return { kind: "superseded", winner: { fingerprint, outcome, completedAt, expiresAt } };
      }
    } catch (error) {
      this.#storeError("find", error);
    }
    return { kind: "superseded", winner: undefined };
  }

  /** @internal */
  async renewLease(): Promise<boolean> {
    if (!this.#confirmed) return this.#confirm();
    return this.#around.store.renew(this.operation.id, this.#request.token, this.#request.leaseMs);
  }

  /** @internal */
  leaseRenewed(durationMs: number): void {
    this.#emit({ type: "lease-renewed", fence: this.#fence, durationMs });
  }

  /** @internal */
  leaseLost(reason: LeaseLossReason): void {
    this.#emit({ type: "lease-lost", fence: this.#fence, reason });
    // Those who joined must not hang on work that may never end, while others may take the record over.
    this.#onSettled({ kind: "abandoned" });
  }

  /** @internal */
  leaseNotRenewed(error: unknown): void {
    this.#storeError("renew", error);
  }

  /** Makes up for the claim that found no store. The token is the same, so a claim that did arrive is found. */
  async #confirm(): Promise<boolean> {
    const claim = await this.#around.store.claim(this.operation.id, this.#request);
    if (claim.state !== "claimed") return false;
    this.#confirmed = true;
    this.#fence = claim.fence;
    return true;
  }

  #marker(reason: NotKeptReason, { payload }: Outcome): Outcome {
    this.#emit({ type: "oversize", bytes: payload.byteLength, limit: this.policy.maxOutcomeBytes, reason });
    return markerOutcome(reason);
  }

  #emit(event: EventBody): void {
    this.#around.emit(this.operation, event);
  }

  #storeError(call: StoreCall, error: unknown): OncewardError {
    const storeError = asStoreError(error);
    this.#emit({ type: "store-error", call, error: storeError });
    return storeError;
  }
}

/** Plug-in stores may let their driver's errors through: nothing is known of what such a call did. */
export function asStoreError(error: unknown): OncewardError {
  if (isOncewardError(error)) return error;
  return new StoreUnavailableError(`The store failed: ${error instanceof Error ? error.message : String(error)}`, {
    cause: error,
  });
}
