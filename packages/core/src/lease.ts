import { type LeaseLossReason, LeaseLostError } from "./errors.ts";
import { monotonicNow, startTimer } from "./runtime.ts";

/** What a {@link Lease} needs of its surroundings. */
export interface LeaseOptions {
  readonly leaseMs: number;
  readonly maxRunMs: number;
  /** When the claim was sent, on the local monotonic clock; undefined when no claim was confirmed yet. */
  readonly claimSentAt: number | undefined;
  /** Asks the store; false when another holds the record. */
  readonly renew: () => Promise<boolean>;
  readonly onRenewed: (durationMs: number) => void;
  readonly onLost: (reason: LeaseLossReason) => void;
  readonly onError: (error: unknown) => void;
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
  readonly #options: LeaseOptions;
  readonly #startedAt = monotonicNow();
  #endsAt: number;
  #renewing = false;
  #ended = false;
  #stopTimer: () => void = () => {};
  #lost: LeaseLostError | undefined;
  #controller: AbortController | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
    // A claim that nobody confirmed can't run out.
    this.#endsAt = options.claimSentAt === undefined ? Number.POSITIVE_INFINITY : options.claimSentAt + options.leaseMs;
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
    const next = [now + this.#options.leaseMs / 3, this.#startedAt + this.#options.maxRunMs];
    if (!this.#lost) next.push(this.#endsAt);
    // Timers count whole milliseconds: without rounding up, one would fire just before the time it is for.
    this.#stopTimer = startTimer(Math.ceil(Math.min(...next) - now), () => this.#tick());
  }

  #tick(): void {
    const now = monotonicNow();
    if (now >= this.#startedAt + this.#options.maxRunMs) {
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
      const held = await this.#options.renew();
      if (this.#ended) return;
      if (held) {
        this.#endsAt = sentAt + this.#options.leaseMs;
        this.#options.onRenewed(monotonicNow() - sentAt);
      } else {
        this.end();
        this.#lose("superseded");
      }
    } catch (error) {
      if (!this.#ended) this.#options.onError(error);
    } finally {
      this.#renewing = false;
    }
  }

  #lose(reason: LeaseLossReason): void {
    if (this.#lost) return;
    this.#lost = new LeaseLostError(explanations[reason], reason);
    this.#options.onLost(reason);
    this.#controller?.abort(this.#lost);
  }
}
