import { StoreRejectedError } from "../errors.ts";
import { decodeText, encodeText, shortLivedBytes } from "../runtime.ts";
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

/** Four bytes that say how long the head is, the head as JSON, then the body's bytes as they are. */
export function encodeResponse(
  { status, headers, requestedAt }: Omit<KeptResponse, "body">,
  body: readonly Uint8Array[],
): Uint8Array {
  const head = encodeText(JSON.stringify({ status, headers, at: requestedAt } satisfies Head));
  const { byteLength: length } = head;
  const payload = shortLivedBytes(body.reduce((sum, chunk) => sum + chunk.byteLength, 4 + length));
  payload.set([length >>> 24, length >>> 16, length >>> 8, length]);
  payload.set(head, 4);
  let offset = 4 + length;
  for (const chunk of body) {
    payload.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return payload;
}

/** What {@link encodeResponse} wrote. */
export function decodeResponse(payload: Uint8Array): KeptResponse {
  try {
    const bodyAt = 4 + new DataView(payload.buffer, payload.byteOffset, payload.byteLength).getUint32(0);
    const head = JSON.parse(decodeText(payload.subarray(4, bodyAt))) as Head;
    return { status: head.status, headers: head.headers, requestedAt: head.at, body: payload.subarray(bodyAt) };
  } catch (cause) {
    throw new StoreRejectedError("The record holds a damaged HTTP response; remove it", { cause });
  }
}
