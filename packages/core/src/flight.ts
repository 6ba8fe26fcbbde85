import type { OncewardError } from "./errors.ts";
import type { Outcome } from "./outcome.ts";
import { startTimer } from "./runtime.ts";

/** What is needed of an AbortSignal. */
export interface Leaving {
  readonly aborted: boolean;
  throwIfAborted(): void;
  addEventListener(type: "abort", listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** An outcome that can be given to duplicates. */
export interface Completion {
  readonly fingerprint: string;
  readonly outcome: Outcome;
  readonly completedAt: number;
  readonly expiresAt: number;
}

/** What those who joined a flight learn. */
export type News =
  | { readonly kind: "completed"; readonly completion: Completion }
  /** The claim could not be made. */
  | { readonly kind: "failed"; readonly error: OncewardError }
  /** The flight ended without an outcome: claim again. */
  | { readonly kind: "again" }
  | { readonly kind: "timeout" }
  | { readonly kind: "aborted" };

interface Joiner {
  readonly tell: (news: News) => void;
  /** Whether it must decide anew once the record's fingerprint is known. */
  readonly undecided: boolean;
}

/**
 * What one process does about one record: claiming it, running it, or waiting for another process that runs it. All
 * concurrent duplicates in the process join it, so that together they cost the store what one costs.
 */
export class Flight {
  /** Of the leader while claiming, of the record from then on. */
  fingerprint: string;
  /** Until the store has answered, it is not known whose payload is the first. */
  claiming = true;
  /** The news for those who come when it has landed already. */
  landed: News | undefined;
  /** Of the claim that another process runs under. */
  waitingFor: number | undefined;
  /** Called when the last joiner has left. */
  onEmpty: (() => void) | undefined;
  /** Made for the first: most flights have none. */
  #joiners: Set<Joiner> | undefined;

  constructor(fingerprint: string) {
    this.fingerprint = fingerprint;
  }

  /** The store has answered the claim. */
  identify(fingerprint: string): void {
    this.fingerprint = fingerprint;
    this.claiming = false;
    for (const joiner of this.#joiners ?? []) if (joiner.undecided) joiner.tell({ kind: "again" });
  }

  /** Tells everybody. */
  land(news: News): void {
    this.claiming = false;
    this.landed = news;
    for (const joiner of this.#joiners ?? []) joiner.tell(news);
  }

  /** Waits for the news, at most so long. */
  join(options: { waitMs: number; undecided: boolean; signal: Leaving | undefined }): Promise<News> {
    if (this.landed) return Promise.resolve(this.landed);
    const { waitMs, undecided, signal } = options;
    this.#joiners ??= new Set();
    const joiners = this.#joiners;
    return new Promise((resolve) => {
      const tell = (news: News) => {
        joiners.delete(joiner);
        stopTimer();
        signal?.removeEventListener("abort", onAbort);
        resolve(news);
        if (joiners.size === 0) this.onEmpty?.();
      };
      const joiner: Joiner = { tell, undecided };
      const onAbort = () => tell({ kind: "aborted" });
      const stopTimer = startTimer(waitMs, () => tell({ kind: "timeout" }));
      signal?.addEventListener("abort", onAbort, { once: true });
      joiners.add(joiner);
    });
  }
}
