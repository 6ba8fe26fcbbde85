export { type CircuitBreakerOptions, withCircuitBreaker } from "./circuit-breaker.ts";
export { type AesGcmCodecOptions, aesGcmCodec, type Codec, type CodecContext } from "./codec.ts";
export type { Context } from "./context.ts";
export { unprotectedContext } from "./context.ts";
export {
  BodyTooLargeError,
  ClosedError,
  CodecError,
  type ErrorCode,
  type ErrorDetails,
  InProgressError,
  InvalidOptionError,
  isOncewardError,
  KeyInvalidError,
  KeyMissingError,
  KeyReusedError,
  type LeaseLossReason,
  LeaseLostError,
  NestedRunError,
  OncewardError,
  OutcomeNotEncodableError,
  OutcomeNotKeptError,
  OutcomeUnknownError,
  type RecordedFailure,
  RecordedFailureError,
  StoreClosedError,
  StoreRejectedError,
  StoreUnavailableError,
  TooManyWaitersError,
} from "./errors.ts";
export type {
  EventName,
  EventOf,
  NotKeptReason,
  OncewardEvent,
  OperationEvent,
  ReleaseReason,
  RunEvent,
  StoreCall,
  StoreEvent,
} from "./events.ts";
export * from "./http/index.ts";
export { type CachingStore, fromLockingStore, type LockingStore, type LockingStoreOptions } from "./locking-store.ts";
export {
  type Asked,
  type Onceward,
  type OperationName,
  onceward,
  type RecordQuery,
  type RunRequest,
  type RunResult,
  type WrapOptions,
} from "./onceward.ts";
export type { OncewardOptions, Policy, PolicyOptions } from "./options.ts";
export type { ClaimRequest, ClaimResult, ListFilter, Store, StoredRecord } from "./store.ts";
