import { type HeaderList, type HttpRecording, type HttpResponse, replaceHeaders } from "@onceward/core";

/** A response's headers as lines. */
export const headersOf = (response: Response): HeaderList => [...response.headers];

/** Statuses whose responses have no body, not even an empty one. */
const nullBodyStatuses = new Set([101, 204, 205, 304]);

/** Core's answer as a Response, with the headers that were set before it. */
export function answerOf({ status, headers, body }: HttpResponse, before: HeaderList): Response {
  const lines = replaceHeaders(before, headers) as [string, string][];
  const content = body.byteLength === 0 || nullBodyStatuses.has(status) ? null : (body as Uint8Array<ArrayBuffer>);
  return new Response(content, { status, headers: lines });
}

/** The response with its body recorded while it flows; its end waits for the recording. */
export async function recorded(
  response: Response,
  recording: HttpRecording,
  client: AbortSignal,
  inBackground: (promise: Promise<unknown>) => void,
): Promise<Response> {
  const { status, body } = response;
  // Taken now: what middleware further out adds belongs to this exchange.
  const headers = headersOf(response);
  if (!body) {
    const winner = await recording.finish(status, headers);
    return winner ? answerOf(winner, []) : response;
  }

  const reader = (body as ReadableStream<Uint8Array>).getReader();
  let clientGone = false;
  async function pump(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      const { done, value } = await reader.read();
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
    const finished = recording.finish(status, headers);
    inBackground(finished);
    await finished;
    if (!clientGone) controller.close();
  }
  /** The retry wants the outcome, so the handler's body is read to its end. */
  function drain(controller: ReadableStreamDefaultController<Uint8Array>): void {
    if (clientGone) return;
    clientGone = true;
    const toTheEnd = async () => {
      while (!recording.ended) await pump(controller);
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
