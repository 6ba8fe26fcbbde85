import type { Codec } from "./codec.ts";
import { CodecError, OutcomeNotKeptError, StoreRejectedError } from "./errors.ts";
import type { NotKeptReason } from "./events.ts";
import { concatBytes } from "./hash.ts";

/**
 * What kind of bytes an outcome is; its first byte in the store. `marker` stands for an outcome that could not be kept.
 * Numbers are for ever.
 */
export const outcomeKinds = { marker: 0, value: 1, error: 2, http: 3 } as const;
/** See {@link outcomeKinds}. */
export type OutcomeKind = keyof typeof outcomeKinds;
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
export async function packOutcome(outcome: Outcome, id: string, codec: Codec | undefined): Promise<Uint8Array> {
  // A marker says nothing secret, and must be possible when the codec is what failed.
  if (!codec || outcome.kind === "marker") return withHeader(outcomeKinds[outcome.kind], outcome.payload);
  const coded = await codec.encode(outcome.payload, { id, part: outcome.kind });
  return withHeader(outcomeKinds[outcome.kind] | codedFlag, coded);
}

/** What {@link packOutcome} made. Throws when the bytes are not ours or don't fit the codec. */
export async function unpackOutcome(stored: Uint8Array, id: string, codec: Codec | undefined): Promise<Outcome> {
  const header = stored[0] ?? 0xff;
  const kind = (Object.keys(outcomeKinds) as OutcomeKind[]).find(
    (name) => outcomeKinds[name] === (header & ~codedFlag),
  );
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
  return { kind, payload: codec ? await codec.decode(payload, { id, part: kind }) : payload };
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
  return concatBytes([Uint8Array.of(header), payload]);
}
