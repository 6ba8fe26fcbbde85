export { concatBytes } from "../hash.ts";
export { type ComparableBody, canonicalJson, type HttpBody } from "./body.ts";
export { type DerivedKey, type DerivedKeyOptions, derivedKey } from "./derived-key.ts";
export { type Dialect, dialects } from "./dialects.ts";
export { type HttpDecision, type HttpGuard, httpGuard } from "./guard.ts";
export { groupHeaders, type HeaderList, type KeepHeader, replaceHeaders } from "./headers.ts";
export { type Keep, type KeepStatus, keepAll, keepDeterministic, keepSuccess } from "./keep.ts";
export type { KeyFormat } from "./key.ts";
export {
  type OpenapiHeader,
  type OpenapiIdempotency,
  type OpenapiParameter,
  type OpenapiResponse,
  openapiIdempotency,
} from "./openapi.ts";
export type {
  HttpOptions,
  ReplayInfo,
  ReplayOptions,
  ResolvedHttpOptions,
  Scope,
  TtlHeaderOptions,
} from "./options.ts";
export type { HttpResponse } from "./outcome.ts";
export type { ChangeProblem, ProblemCode, ProblemInfo, ProblemResponse, Statuses } from "./problem.ts";
export { HttpRecording } from "./recording.ts";
export { addToReplay } from "./replay.ts";
export { closeSignal, type HttpRequestView, splitTarget } from "./view.ts";
