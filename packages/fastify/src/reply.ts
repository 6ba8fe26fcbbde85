import { Readable } from "node:stream";
import { groupHeaders, type HeaderList, type HttpRecording, type HttpResponse } from "@onceward/core";
import type { FastifyReply } from "fastify";

/** The headers that are on the reply, as lines. */
export function headersOf(reply: FastifyReply): HeaderList {
  return Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
    value === undefined ? [] : (Array.isArray(value) ? value : [value]).map((line) => [name, String(line)] as const),
  );
}

function setHead(reply: FastifyReply, { status, headers }: HttpResponse): void {
  reply.code(status);
  for (const { name, values } of groupHeaders(headers).values()) {
    reply.removeHeader(name);
    reply.header(name, values.length === 1 ? values[0] : values);
  }
}

/** Sends core's answer. */
export function send(reply: FastifyReply, response: HttpResponse): FastifyReply {
  setHead(reply, response);
  return response.body.byteLength === 0 ? reply.send() : reply.send(Buffer.from(response.body));
}

/** Records a payload on its way out. What is whole waits for the recording; a stream flows, and only its end waits. */
export async function recordPayload(reply: FastifyReply, recording: HttpRecording, payload: unknown): Promise<unknown> {
  const headers = headersOf(reply);
  const status = reply.statusCode;
  const source = sourceOf(payload);
  if (source) return Readable.from(recordStream(source, recording, status, headers, reply), { objectMode: false });
  if (typeof payload === "string") recording.write(Buffer.from(payload));
  else if (payload instanceof Uint8Array) recording.write(payload);
  const winner = await recording.finish(status, headers);
  if (!winner) return payload;
  setHead(reply, winner);
  reply.removeHeader("content-length");
  return Buffer.from(winner.body);
}

function sourceOf(payload: unknown): AsyncIterable<Uint8Array | string> | undefined {
  if (payload instanceof Uint8Array || typeof payload !== "object" || payload === null) return undefined;
  if (payload instanceof Response) return payload.body ?? undefined;
  return Symbol.asyncIterator in payload ? (payload as AsyncIterable<Uint8Array | string>) : undefined;
}

async function* recordStream(
  source: AsyncIterable<Uint8Array | string>,
  recording: HttpRecording,
  status: number,
  headers: HeaderList,
  reply: FastifyReply,
): AsyncGenerator<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]();
  const next = async () => {
    const { done, value } = await chunks.next();
    if (done) return undefined;
    const bytes = typeof value === "string" ? Buffer.from(value) : value;
    recording.write(bytes);
    return bytes;
  };
  let failed = false;
  try {
    for (let bytes = await next(); bytes; bytes = await next()) yield bytes;
    await recording.finish(status, headers);
  } catch (error) {
    failed = true;
    await recording.abandon();
    throw error;
  } finally {
    // The client went away: the retry wants the outcome, so the rest is read too.
    if (!failed && !recording.ended) {
      try {
        while (await next());
        await recording.finish(status, headers);
      } catch (error) {
        reply.log.error(error);
        await recording.abandon();
      }
    }
  }
}
