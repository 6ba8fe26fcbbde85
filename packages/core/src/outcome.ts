import type { Codec } from "./codec.ts";
import { CodecError, OutcomeNotKeptError, StoreRejectedError } from "./errors.ts";
import type { NotKeptReason } from "./events.ts";
import { andThen, type MaybePromise, shortLivedBytes } from "./runtime.ts";

/**
 * What kind of bytes an outcome is; its first byte in the store. `marker` stands for an outcome that could not be kept.
 * Numbers are for ever.
 */
export const outcomeKinds = { marker: 0, value: 1, error: 2, http: 3 } as const;
/** See {@link outcomeKinds}. */
export type OutcomeKind = keyof typeof outcomeKinds;
const kindOf: readonly (OutcomeKind | undefined)[] = ["marker", "value", "error", "http"];
/** Set on the first byte when the rest went through a codec. */
const codedFlag = 0x80;

/** An outcome as core works with it. */
export interface Outcome {
  readonly kind: OutcomeKind;
  readonly payload: Uint8Array;
}

const utf8 = new TextEncoder();
const utf8Decoder = new TextDecoder();

/** As the store gets it: a byte that names kind and codec, then the payload. */
export function packOutcome(outcome: Outcome, id: string, codec: Codec | undefined): MaybePromise<Uint8Array> {
  // A marker says nothing secret, and must be possible when the codec is what failed.
  if (!codec || outcome.kind === "marker") return withHeader(outcomeKinds[outcome.kind], outcome.payload);
  const coded = codec.encode(outcome.payload, { id, part: outcome.kind });
  return andThen(coded, (bytes) => withHeader(outcomeKinds[outcome.kind] | codedFlag, bytes));
}

/** What {@link packOutcome} made. Throws when the bytes are not ours or don't fit the codec. */
export function unpackOutcome(stored: Uint8Array, id: string, codec: Codec | undefined): MaybePromise<Outcome> {
  const header = stored[0] ?? 0xff;
  const kind = kindOf[header & ~codedFlag];
  if (!kind) {
    throw new StoreRejectedError(
      `The record holds an outcome of an unknown kind (${header}): it was not written by Onceward, or by a newer version; remove it or upgrade`,
    );
  }
  const payload = stored.subarray(1);
  if (kind === "marker") return { kind, payload };
  const coded = (header & codedFlag) !== 0;
  if (coded !== (codec !== undefined)) {
    throw new CodecError(
      coded ? "The record was written with a codec; configure it" : "The record was written without a codec",
    );
  }
  if (!codec) return { kind, payload };
  return andThen(codec.decode(payload, { id, part: kind }), (plain) => ({ kind, payload: plain }));
}

/** The outcome that says: done, but there is nothing to replay. */
export function markerOutcome(reason: NotKeptReason): Outcome {
  return { kind: "marker", payload: utf8.encode(reason) };
}

/** What a duplicate is told when it meets a marker. */
export function notKeptError(marker: Outcome): OutcomeNotKeptError {
  const why = {
    "too-large": "it was larger than maxOutcomeBytes",
    "not-encodable": "it holds something that can't be stored",
    rejected: "the store rejected it",
  }[utf8Decoder.decode(marker.payload) as NotKeptReason];
  return new OutcomeNotKeptError(
    `The work was done before, but its outcome was not kept: ${why}. It will not run again under this key`,
  );
}

function withHeader(header: number, payload: Uint8Array): Uint8Array {
  const packed = shortLivedBytes(payload.byteLength + 1);
  packed[0] = header;
  packed.set(payload, 1);
  return packed;
}
