import { type HeaderList, type HttpRecording, type HttpResponse, replaceHeaders } from "@onceward/core";

/** A response's headers as lines. */
export const headersOf = (response: Response): HeaderList => [...response.headers];

/** Statuses whose responses have no body, not even an empty one. */
const nullBodyStatuses = new Set([101, 204, 205, 304]);

/** Core's answer as a Response, with the headers that were set before it. */
export function answerOf({ status, headers, body }: HttpResponse, before: HeaderList): Response {
  const lines = replaceHeaders(before, headers) as [string, string][];
  // Servers give a body without a type one of their own; a response that had neither must stay so.
  const typed = lines.some(([name]) => name.toLowerCase() === "content-type");
  const bare = nullBodyStatuses.has(status) || (body.byteLength === 0 && !typed);
  const content = bare ? null : (body as Uint8Array<ArrayBuffer>);
  return new Response(content, { status, headers: lines });
}

type Reader = ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
type Chunk = Awaited<ReturnType<Reader["read"]>>;

/** The response, recorded. What is whole waits for the store; a stream flows, and only its end waits. */
export async function recorded(
  response: Response,
  recording: HttpRecording,
  client: () => AbortSignal,
  inBackground: (promise: Promise<unknown>) => void,
): Promise<Response> {
  const { status } = response;
  // Taken now: what middleware further out adds belongs to this exchange.
  const headers = headersOf(response);
  const cached = cachedBody(response);
  if (cached) {
    recording.write(cached);
    const winner = await recording.finish(status, headers);
    return winner ? answerOf(winner, []) : response;
  }
  const reader = (response.body as ReadableStream<Uint8Array<ArrayBuffer>> | null)?.getReader();
  const first = reader?.read();
  const start = first && (await atOnce(first));
  const second = start && !start.done ? reader?.read() : undefined;
  const whole = !first || start?.done || (second && (await atOnce(second))?.done);
  if (reader && first && !whole)
    return streamed(
      { response, headers, reader, read: second ? [first, second] : [first] },
      recording,
      client(),
      inBackground,
    );

  const body = start?.value;
  if (body) recording.write(body);
  const winner = await recording.finish(status, headers);
  if (winner) return answerOf(winner, []);
  if (!reader) return response;
  const { statusText } = response;
  return new Response(body ?? new Uint8Array(), { status, statusText, headers: response.headers });
}

const utf8 = new TextEncoder();

/**
 * The body of a response that @hono/node-server has yet to make a real one of: asking that for its body would make it so,
 * and cost the request as much as all the rest of this package. Undefined where there is no such thing.
 */
function cachedBody(response: Response): Uint8Array | undefined {
  const cache = Object.getOwnPropertySymbols(response).find(({ description }) => description === "cache");
  const parts = cache && (response as unknown as Record<symbol, unknown>)[cache];
  const body: unknown = Array.isArray(parts) ? parts[1] : undefined;
  if (typeof body === "string") return utf8.encode(body);
  return body instanceof Uint8Array ? body : undefined;
}

/**
 * What the promise gives without waiting for anything outside; undefined when that takes longer, or fails. A whole body
 * comes so; that a few turns are enough for it was found by trying.
 */
async function atOnce(promise: Promise<Chunk>): Promise<Chunk | undefined> {
  let settled: Chunk | undefined;
  promise.then(
    (chunk) => {
      settled = chunk;
    },
    () => {},
  );
  for (let turn = 0; turn < 10 && !settled; turn++) await undefined;
  return settled;
}

/** A response whose body has begun to be read. */
interface Begun {
  readonly response: Response;
  readonly headers: HeaderList;
  readonly reader: Reader;
  /** What was asked for already. */
  readonly read: Promise<Chunk>[];
}

function streamed(
  { response, headers, reader, read }: Begun,
  recording: HttpRecording,
  client: AbortSignal,
  inBackground: (promise: Promise<unknown>) => void,
): Response {
  let clientGone = false;
  async function pump(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      const { done, value } = await (read.shift() ?? reader.read());
      if (!done) {
        recording.write(value);
        if (!clientGone) controller.enqueue(value);
        return;
      }
    } catch (error) {
      await recording.abandon();
      if (!clientGone) controller.error(error);
      return;
    }
    const finished = recording.finish(response.status, headers);
    inBackground(finished);
    await finished;
    if (!clientGone) controller.close();
  }
  /** The retry wants the outcome, so the handler's body is read to its end, for as long as nobody else may run. */
  function drain(controller: ReadableStreamDefaultController<Uint8Array>): void {
    if (clientGone) return;
    clientGone = true;
    const lease = recording.context.signal;
    const toTheEnd = async () => {
      while (!recording.ended && !lease.aborted) await pump(controller);
      if (recording.ended) return;
      await recording.abandon();
      await reader.cancel(lease.reason);
    };
    inBackground(toTheEnd());
  }
  let live: ReadableStreamDefaultController<Uint8Array>;
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      live = controller;
    },
    pull: pump,
    cancel: () => drain(live),
  });
  const onGone = () => {
    // Not every server cancels the body of a response that nobody reads.
    if (!recording.ended) live.error(client.reason);
    drain(live);
  };
  if (client.aborted) onGone();
  else client.addEventListener("abort", onGone, { once: true });
  return new Response(stream, response);
}
