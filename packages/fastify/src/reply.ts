import { validateHeaderValue } from "node:http";
import { Readable } from "node:stream";
import { groupHeaders, type HeaderList, type HttpRecording, type HttpResponse } from "@onceward/core";
import type { FastifyReply } from "fastify";

/** The headers that are on the reply, as lines. */
export function headersOf(reply: FastifyReply): HeaderList {
  const lines: [string, string][] = [];
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (Array.isArray(value)) for (const line of value) lines.push([name, line]);
    else if (value !== undefined) lines.push([name, String(value)]);
  }
  return lines;
}

function setHead(reply: FastifyReply, { status, headers }: HttpResponse): void {
  reply.code(status);
  for (const { name, values } of groupHeaders(headers).values()) {
    reply.removeHeader(name);
    reply.header(name, values.length === 1 ? values[0] : values);
  }
}

/** Sends core's answer. */
export function send(reply: FastifyReply, response: HttpResponse): void {
  setHead(reply, response);
  if (response.body.byteLength === 0) reply.send();
  else reply.send(Buffer.from(response.body));
}

type Done = (error: Error | null, payload?: unknown) => void;

/** Records a payload on its way out. What is whole waits for the recording; a stream flows, and only its end waits. */
export function recordPayload(reply: FastifyReply, recording: HttpRecording, payload: unknown, done: Done): void {
  if (payload instanceof Response) {
    // Fastify does this after the last hook.
    reply.code(payload.status);
    for (const [name, value] of payload.headers) reply.header(name, value);
  }
  const headers = headersOf(reply);
  const status = reply.statusCode;
  // Fastify throws, and whoever called the handler catches it. Thrown when the end is due, it would end the process.
  if (refused(status, headers, payload)) {
    done(null, payload);
    return;
  }
  const source = sourceOf(payload);
  if (source) {
    done(null, Readable.from(recordStream(source, recording, status, headers, reply), { objectMode: false }));
    return;
  }
  if (typeof payload === "string" || payload instanceof Uint8Array) recording.write(payload);
  const { send } = reply;
  reply.send = refuseSecond;
  const deliver = (winner: HttpResponse | undefined) => {
    reply.send = send;
    if (!winner) {
      reply.code(status);
      done(null, payload);
      return;
    }
    for (const name of Object.keys(reply.getHeaders())) reply.removeHeader(name);
    setHead(reply, winner);
    done(null, Buffer.from(winner.body));
  };
  // Whatever else Fastify or Node refuses costs this connection only.
  recording
    .finish(status, headers)
    .then(deliver)
    .catch((error: unknown) => {
      reply.log.error(error);
      reply.raw.destroy();
    });
}

/** Whether Fastify or Node will refuse to send that. */
function refused(status: number, headers: HeaderList, payload: unknown): boolean {
  if (!(status >= 100 && status < 1000)) return true;
  if (payload !== undefined && payload !== null && typeof payload !== "object" && typeof payload !== "string")
    return true;
  try {
    for (const [name, value] of headers) validateHeaderValue(name, value);
    return false;
  } catch {
    return true;
  }
}

/**
 * While the end waits, Fastify takes the reply for one that is not sent yet: a second one would overtake it, as would a
 * late error and the nothing that an async handler returns after `reply.send`.
 */
function refuseSecond(this: FastifyReply, payload?: unknown): FastifyReply {
  if (payload instanceof Error) this.log.error(payload, "The handler failed after it had sent its reply");
  else if (payload !== undefined) this.log.warn("The handler sent a second reply, which is ignored");
  return this;
}

function sourceOf(payload: unknown): AsyncIterable<Uint8Array | string> | undefined {
  if (typeof payload !== "object" || payload === null || payload instanceof Uint8Array) return undefined;
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
    // The client went away, and the retry wants the outcome.
    if (!failed && !recording.ended) await readOn();
  }

  /** To the end, for as long as nobody else may run. */
  async function readOn(): Promise<void> {
    const lost = lostLease(recording);
    try {
      while (await Promise.race([next(), lost]));
      if (!recording.context.signal.aborted) await recording.finish(status, headers);
    } catch (error) {
      reply.log.error(error);
    }
    if (recording.ended) return;
    await recording.abandon();
    await chunks.return?.();
  }
}

function lostLease({ context: { signal } }: HttpRecording): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}
