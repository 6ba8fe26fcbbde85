import { type LeaseLossReason, LeaseLostError } from "./errors.ts";
import { monotonicNow, startTimer } from "./runtime.ts";

/** Whom a {@link Lease} asks and tells. */
export interface LeaseHolder {
  /** Asks the store; false when another holds the record. */
  renewLease(): Promise<boolean>;
  leaseRenewed(durationMs: number): void;
  leaseLost(reason: LeaseLossReason): void;
  leaseNotRenewed(error: unknown): void;
}

const explanations: Record<LeaseLossReason, string> = {
  superseded: "Another runner has taken this record over",
  expired: "The lease ran out before it could be renewed: another runner may have taken this record over",
  "max-run": "The work ran for longer than maxRunMs, so its lease is renewed no more",
};

/**
 * Keeps a claim alive while the work runs, and notices when that fails. What counts is when a call was *sent*: the store
 * can't have started the lease earlier than that.
 */
export class Lease {
  readonly #holder: LeaseHolder;
  readonly #leaseMs: number;
  readonly #maxRunMs: number;
  readonly #startedAt = monotonicNow();
  #endsAt: number;
  #renewing = false;
  #ended = false;
  #stopTimer: () => void = () => {};
  #lost: LeaseLostError | undefined;
  #controller: AbortController | undefined;

  /** @param claimSentAt - when the claim was sent, on the local monotonic clock; undefined when none was confirmed yet. */
  constructor(holder: LeaseHolder, leaseMs: number, maxRunMs: number, claimSentAt: number | undefined) {
    this.#holder = holder;
    this.#leaseMs = leaseMs;
    this.#maxRunMs = maxRunMs;
    // A claim that nobody confirmed can't run out.
    this.#endsAt = claimSentAt === undefined ? Number.POSITIVE_INFINITY : claimSentAt + leaseMs;
    if (this.#startedAt >= this.#endsAt) this.#lose("expired");
    this.#schedule();
  }

  /** Aborts with a {@link LeaseLostError} when this runner may no longer be the only one. Made when first asked for. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#lost) this.#controller.abort(this.#lost);
    }
    return this.#controller.signal;
  }

  /** Why the lease was lost, if it was. */
  get lost(): LeaseLostError | undefined {
    return this.#lost;
  }

  /** No more renewals; replies still under way are ignored. */
  end(): void {
    this.#ended = true;
    this.#stopTimer();
  }

  #schedule(): void {
    const now = monotonicNow();
    const endsAt = this.#lost ? Number.POSITIVE_INFINITY : this.#endsAt;
    const next = Math.min(now + this.#leaseMs / 3, this.#startedAt + this.#maxRunMs, endsAt);
    // Timers count whole milliseconds: without rounding up, one would fire just before the time it is for.
    this.#stopTimer = startTimer(Math.ceil(next - now), () => this.#tick());
  }

  #tick(): void {
    const now = monotonicNow();
    if (now >= this.#startedAt + this.#maxRunMs) {
      this.end();
      this.#lose("max-run");
      return;
    }
    if (now >= this.#endsAt) this.#lose("expired");
    // A lease that ran out here is still renewed: while nobody took over, that keeps others from starting beside us.
    if (!this.#renewing) void this.#renew(now);
    this.#schedule();
  }

  async #renew(sentAt: number): Promise<void> {
    this.#renewing = true;
    try {
      const held = await this.#holder.renewLease();
      if (this.#ended) return;
      if (held) {
        this.#endsAt = sentAt + this.#leaseMs;
        this.#holder.leaseRenewed(monotonicNow() - sentAt);
      } else {
        this.end();
        this.#lose("superseded");
      }
    } catch (error) {
      if (!this.#ended) this.#holder.leaseNotRenewed(error);
    } finally {
      this.#renewing = false;
    }
  }

  #lose(reason: LeaseLossReason): void {
    if (this.#lost) return;
    this.#lost = new LeaseLostError(explanations[reason], reason);
    this.#holder.leaseLost(reason);
    this.#controller?.abort(this.#lost);
  }
}
