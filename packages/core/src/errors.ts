/** The closed set of codes. They are for ever: docs/errors.md has a heading for each. */
export type ErrorCode =
  | "ERR_INVALID_OPTION"
  | "ERR_KEY_MISSING"
  | "ERR_KEY_INVALID"
  | "ERR_KEY_REUSED"
  | "ERR_BODY_TOO_LARGE"
  | "ERR_IN_PROGRESS"
  | "ERR_OUTCOME_UNKNOWN"
  | "ERR_TOO_MANY_WAITERS"
  | "ERR_STORE_UNAVAILABLE"
  | "ERR_STORE_REJECTED"
  | "ERR_STORE_CLOSED"
  | "ERR_OUTCOME_NOT_KEPT"
  | "ERR_OUTCOME_NOT_ENCODABLE"
  | "ERR_RECORDED_FAILURE"
  | "ERR_LEASE_LOST"
  | "ERR_NESTED_RUN"
  | "ERR_CODEC"
  | "ERR_CLOSED";

/** What every error may carry beside its message. */
export interface ErrorDetails {
  readonly cause?: unknown;
  /** When trying again is likely to help, in milliseconds from now. */
  readonly retryAfterMs?: number | undefined;
}

/** The same in every copy of this package: an application may load the ESM one and a store the CommonJS one. */
const brand = Symbol.for("onceward.error");

/** Base of all errors that Onceward throws. Branch on `code`, never on `message`. */
export abstract class OncewardError extends Error {
  /** @internal */
  readonly [brand] = true;
  abstract readonly code: ErrorCode;
  /** Whether the very same call may succeed later. */
  readonly retryable: boolean = false;
  /** When trying again is likely to help, in milliseconds from now. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, details: ErrorDetails = {}) {
    super(message, "cause" in details ? { cause: details.cause } : undefined);
    this.retryAfterMs = details.retryAfterMs;
  }

  /** The page that explains this code and its remedy. */
  get documentation(): string {
    return `https://github.com/onceward/onceward/blob/main/docs/errors.md#${this.code.toLowerCase()}`;
  }
}

/** An option has a value that can't work. Thrown when the option is given, not when it is first used. */
export class InvalidOptionError extends OncewardError {
  override readonly name = "InvalidOptionError";
  readonly code = "ERR_INVALID_OPTION";
}

/** A key is required and none came. */
export class KeyMissingError extends OncewardError {
  override readonly name = "KeyMissingError";
  readonly code = "ERR_KEY_MISSING";
}

/** The key is not of the required form. */
export class KeyInvalidError extends OncewardError {
  override readonly name = "KeyInvalidError";
  readonly code = "ERR_KEY_INVALID";
}

/** Over HTTP: the request's body is larger than what is read to compare it (`maxBodyBytes`). */
export class BodyTooLargeError extends OncewardError {
  override readonly name = "BodyTooLargeError";
  readonly code = "ERR_BODY_TOO_LARGE";
}

/** The key was used before with another payload. */
export class KeyReusedError extends OncewardError {
  override readonly name = "KeyReusedError";
  readonly code = "ERR_KEY_REUSED";
}

/** The first call is still running. */
export class InProgressError extends OncewardError {
  override readonly name = "InProgressError";
  readonly code = "ERR_IN_PROGRESS";
  override readonly retryable = true;
}

/** A former runner died, and `takeover: false` forbids to run the work again. */
export class OutcomeUnknownError extends OncewardError {
  override readonly name = "OutcomeUnknownError";
  readonly code = "ERR_OUTCOME_UNKNOWN";
}

/** `maxWaiters` duplicates of this key are waiting already. */
export class TooManyWaitersError extends OncewardError {
  override readonly name = "TooManyWaitersError";
  readonly code = "ERR_TOO_MANY_WAITERS";
  override readonly retryable = true;
}

/** The store did not answer in time, or can't take writes now. Nothing is known of what it did. */
export class StoreUnavailableError extends OncewardError {
  override readonly name = "StoreUnavailableError";
  readonly code = "ERR_STORE_UNAVAILABLE";
  override readonly retryable = true;
}

/** The store answered, and refused: trying the same again won't help. */
export class StoreRejectedError extends OncewardError {
  override readonly name = "StoreRejectedError";
  readonly code = "ERR_STORE_REJECTED";
}

/** The store was closed before the call. */
export class StoreClosedError extends OncewardError {
  override readonly name = "StoreClosedError";
  readonly code = "ERR_STORE_CLOSED";
}

/** The work was done, but its outcome was too large (or otherwise impossible) to keep, so it can't be replayed. */
export class OutcomeNotKeptError extends OncewardError {
  override readonly name = "OutcomeNotKeptError";
  readonly code = "ERR_OUTCOME_NOT_KEPT";
}

/** The work was done, but it returned something that can't be stored and given back unchanged. */
export class OutcomeNotEncodableError extends OncewardError {
  override readonly name = "OutcomeNotEncodableError";
  readonly code = "ERR_OUTCOME_NOT_ENCODABLE";
}

/** What an error looked like when it was recorded. */
export interface RecordedFailure {
  readonly name: string;
  readonly message: string;
  readonly code?: string | number | undefined;
}

/** With `keepErrors`: the first call threw, and this is the replay of that. */
export class RecordedFailureError extends OncewardError {
  override readonly name = "RecordedFailureError";
  readonly code = "ERR_RECORDED_FAILURE";

  constructor(
    /** Name, message and code of the error that the first call threw. */
    readonly original: RecordedFailure,
  ) {
    super(original.message);
  }
}

/** Why a lease was lost: taken by another, run out, or the handler ran for more than `maxRunMs`. */
export type LeaseLossReason = "superseded" | "expired" | "max-run";

/** This runner may no longer be the only one: stop. */
export class LeaseLostError extends OncewardError {
  override readonly name = "LeaseLostError";
  readonly code = "ERR_LEASE_LOST";

  constructor(
    message: string,
    readonly reason: LeaseLossReason,
    details?: ErrorDetails,
  ) {
    super(message, details);
  }
}

/** `run` of an id inside itself would wait for itself. */
export class NestedRunError extends OncewardError {
  override readonly name = "NestedRunError";
  readonly code = "ERR_NESTED_RUN";
}

/** The codec could not read what the store holds. */
export class CodecError extends OncewardError {
  override readonly name = "CodecError";
  readonly code = "ERR_CODEC";
}

/** `close` was called on this Onceward. */
export class ClosedError extends OncewardError {
  override readonly name = "ClosedError";
  readonly code = "ERR_CLOSED";
  override readonly retryable = true;
}

/** Whether it is an error of Onceward's, of that code if one is given; unlike `instanceof`, across copies of the package. */
export function isOncewardError(error: unknown, code?: ErrorCode): error is OncewardError {
  if (typeof error !== "object" || error === null || !(brand in error)) return false;
  return code === undefined || (error as OncewardError).code === code;
}
