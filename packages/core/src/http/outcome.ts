import { StoreRejectedError } from "../errors.ts";
import { concatBytes } from "../hash.ts";
import type { HeaderList } from "./headers.ts";

/** A response, whole. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: Uint8Array;
}

/** A response as it is kept, with the moment its request came. */
export interface KeptResponse extends HttpResponse {
  /** Milliseconds since the epoch, on the clock of the process that ran it. */
  readonly requestedAt: number;
}

interface Head {
  readonly status: number;
  readonly headers: HeaderList;
  readonly at: number;
}

const utf8 = new TextEncoder();

/** Four bytes that say how long the head is, the head as JSON, then the body's bytes as they are. */
export function encodeResponse(
  { status, headers, requestedAt }: Omit<KeptResponse, "body">,
  body: readonly Uint8Array[],
): Uint8Array {
  const head = utf8.encode(JSON.stringify({ status, headers, at: requestedAt } satisfies Head));
  const { byteLength: length } = head;
  const prefix = Uint8Array.of(length >>> 24, length >>> 16, length >>> 8, length);
  return concatBytes([prefix, head, ...body]);
}

/** What {@link encodeResponse} wrote. */
export function decodeResponse(payload: Uint8Array): KeptResponse {
  try {
    const length = new DataView(payload.buffer, payload.byteOffset, payload.byteLength).getUint32(0);
    const head = JSON.parse(new TextDecoder().decode(payload.subarray(4, 4 + length))) as Head;
    return { status: head.status, headers: head.headers, requestedAt: head.at, body: payload.subarray(4 + length) };
  } catch (cause) {
    throw new StoreRejectedError("The record holds a damaged HTTP response; remove it", { cause });
  }
}
