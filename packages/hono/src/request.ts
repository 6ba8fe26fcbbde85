import { BodyTooLargeError, concatBytes, type HttpBody } from "@onceward/core";
import type { HonoRequest } from "hono";

/** The body's bytes, from a copy, so that the handler can read it in every way. */
export async function bodyOf(request: HonoRequest, maxBytes: number): Promise<HttpBody> {
  const { raw } = request;
  const tooLarge = () => new BodyTooLargeError(`The request's body has more than ${maxBytes} bytes (maxBodyBytes)`);
  if (Number(request.header("content-length") ?? 0) > maxBytes) throw tooLarge();
  if (raw.bodyUsed) {
    try {
      // A validator has read it through Hono, which remembers.
      return { kind: "bytes", bytes: new Uint8Array(await request.arrayBuffer()) };
    } catch {
      return { kind: "unseen", remedy: "read the body through c.req, or put idempotency before what reads it" };
    }
  }
  if (raw.body === null) return { kind: "none" };

  const reader = (raw.clone().body as ReadableStream<Uint8Array>).getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { kind: "bytes", bytes: concatBytes(chunks) };
    size += value.byteLength;
    if (size > maxBytes) {
      // The other copy goes on holding what is not read: nobody will.
      void reader.cancel();
      void raw.body.cancel();
      throw tooLarge();
    }
    chunks.push(value);
  }
}
