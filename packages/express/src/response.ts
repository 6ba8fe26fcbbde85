import { type OutgoingHttpHeader, type OutgoingHttpHeaders, OutgoingMessage, type ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { groupHeaders, type HeaderList, type HttpRecording, type HttpResponse } from "@onceward/core";

/** The headers that are on the response, as lines. */
export function headersOf(res: ServerResponse): HeaderList {
  const lines: (readonly [string, string])[] = [];
  for (const name of rawHeaderNames(res)) {
    const value = res.getHeader(name);
    if (Array.isArray(value)) for (const line of value) lines.push([name, line]);
    else if (value !== undefined) lines.push([name, String(value)]);
  }
  return lines;
}

/** As they were written, which Node's types don't know of a response. */
const rawHeaderNames = (res: ServerResponse): readonly string[] =>
  (res as ServerResponse & { getRawHeaderNames(): string[] }).getRawHeaderNames();

function linesOf(name: string, value: OutgoingHttpHeader | undefined): HeaderList {
  if (value === undefined) return [];
  return (Array.isArray(value) ? value : [value]).map((line) => [name, String(line)] as const);
}

/** Puts headers on the response, in the place of those of the same name. */
function setHeaders(res: ServerResponse, headers: HeaderList): void {
  for (const { name, values } of groupHeaders(headers).values())
    res.setHeader(name, values.length === 1 ? (values[0] as string) : values);
}

function clearHeaders(res: ServerResponse): void {
  for (const name of res.getHeaderNames()) res.removeHeader(name);
}

function sameLines(some: HeaderList, others: HeaderList): boolean {
  return (
    some.length === others.length &&
    some.every(([name, value], index) => name === others[index]?.[0] && value === others[index]?.[1])
  );
}

const nullBodyStatuses = new Set([204, 205, 304]);

/** Sends core's answer. */
export function send(res: ServerResponse, { status, headers, body }: HttpResponse): void {
  res.statusCode = status;
  setHeaders(res, headers);
  if (nullBodyStatuses.has(status)) {
    res.end();
    return;
  }
  res.setHeader("Content-Length", body.byteLength);
  res.end(body);
}

type Done = (error?: Error | null) => void;

/**
 * Records what goes through `write` and `end`, however the handler gets there. Bytes flow; only the end waits for the
 * recording. When the client goes away, writing goes on into the recording alone, so that pipes reach their end.
 */
export function record(res: ServerResponse, recording: HttpRecording): void {
  const { write, end, writeHead, flushHeaders, destroy, emit } = res;
  const original = { write, end, writeHead, flushHeaders, destroy, emit };
  let head: { status: number; headers: HeaderList } | undefined;
  let sources: Readable[] | undefined;
  let gone: { readonly close: unknown[] } | undefined;
  let patience: NodeJS.Timeout | undefined;
  /** The end was called, and waits for the recording: whatever a handler does from now on must not reach the client. */
  let held = false;

  const takeHead = () => {
    head ??= { status: res.statusCode, headers: headersOf(res) };
    return head;
  };
  const restore = () => void Object.assign(res, original);

  res.writeHead = function writeHead(status: number, ...rest: unknown[]) {
    if (held) return res;
    const reason = typeof rest[0] === "string" ? rest[0] : undefined;
    const given = (reason === undefined ? rest[0] : rest[1]) as OutgoingHttpHeaders | OutgoingHttpHeader[] | undefined;
    res.statusCode = status;
    // Set one by one: Node keeps headers that are given here to itself.
    if (given && !res.headersSent) setHeaders(res, explicitHeaders(given));
    if (reason !== undefined) res.statusMessage = reason;
    original.writeHead.call(res, status);
    // After it: a head that Node refuses is not the response's.
    takeHead();
    return res;
  } as typeof res.writeHead;

  res.flushHeaders = () => {
    if (!held) original.flushHeaders.call(res);
  };

  res.write = function write(chunk: unknown, ...rest: unknown[]) {
    const { encoding, done } = argumentsOf(rest);
    if (held) {
      if (done) process.nextTick(done, new Error("write after end"));
      return false;
    }
    if (recording.ended) return original.write.call(res, chunk, encoding as BufferEncoding, done);
    recording.write(recordable(chunk, encoding));
    if (!gone) return original.write.call(res, chunk, encoding as BufferEncoding, done);
    patience?.refresh();
    takeHead();
    if (done) process.nextTick(done);
    return true;
  } as typeof res.write;

  res.end = function end(...rest: unknown[]) {
    const chunk = typeof rest[0] === "function" ? undefined : (rest.shift() as unknown);
    const { encoding, done } = argumentsOf(rest);
    if (recording.ended) {
      // Its end is under way.
      if (done) res.once("finish", done);
      return res;
    }
    // Node throws, and whoever called the handler catches it. Thrown when the end is due, it would end the process.
    if (refused(res, chunk)) return original.end.call(res, chunk, encoding as BufferEncoding, done) as typeof res;
    if (chunk !== undefined && chunk !== null) recording.write(recordable(chunk, encoding));
    const { status, headers } = takeHead();
    const unsent = !res.headersSent;
    pretendEnded(res);
    held = true;
    const deliver = (winner: HttpResponse | undefined) => {
      stopPretending(res);
      held = false;
      if (gone) {
        if (done) res.once("finish", done);
        original.emit.call(res, "finish");
        close();
        return;
      }
      restore();
      if (unsent && winner) {
        clearHeaders(res);
        send(res, winner);
        return;
      }
      if (unsent && !(res.statusCode === status && sameLines(headersOf(res), headers))) {
        // The handler went on after its end: that must not change what was kept.
        clearHeaders(res);
        setHeaders(res, headers);
        res.statusCode = status;
      }
      if (chunk === undefined || chunk === null) res.end(done);
      else res.end(chunk, encoding as BufferEncoding, done);
    };
    // Whatever else Node refuses (a length that is wrong, where that is checked) costs this connection only.
    recording
      .finish(status, headers)
      .then(deliver)
      .catch(() => original.destroy.call(res));
    return res;
  } as typeof res.end;

  res.destroy = function destroy(error?: Error) {
    if (!gone) void recording.abandon();
    return original.destroy.call(res, error) as typeof res;
  };

  res.emit = function emit(event: string | symbol, ...args: unknown[]) {
    if (event === "pipe") {
      const source = args[0] as Readable;
      sources = [...(sources ?? []), source];
      if (gone) keepFlowing(source);
    }
    if (event !== "close" || recording.ended) return original.emit.call(res, event, ...args);
    if (!gone) onGone(args);
    return true;
  } as typeof res.emit;

  /** The client went away. Whoever writes would stop if told now, and the retry find nothing. */
  function onGone(args: unknown[]): void {
    gone = { close: args };
    setClosed(res, false);
    // Cut from this side. Before the first byte that was a time-out or a shutdown, and the handler works on: Express would
    // have answered its failure. After it, that may have been Express's way to end a failed response, which nobody tells.
    const cutHere = !res.socket?.readableEnded && !res.socket?.errored;
    if (cutHere && res.headersSent) patience = setTimeout(giveUp, recording.leaseMs).unref();
    for (const source of sources ?? []) keepFlowing(source);
    const { signal } = recording.context;
    if (signal.aborted) giveUp();
    else signal.addEventListener("abort", giveUp, { once: true });
    original.emit.call(res, "drain");
  }

  /** Libraries that send files destroy them with the connection; only what fails by itself may stop. */
  function keepFlowing(source: Readable): void {
    const { destroy } = source;
    source.destroy = (error) =>
      error || source.readableEnded || recording.ended ? destroy.call(source, error) : source;
    const onClose = () => void (source.readableEnded || giveUp());
    if (source.destroyed) onClose();
    else source.once("close", onClose);
  }

  /** Nobody will end the response. */
  function giveUp(): void {
    if (recording.ended) return;
    void recording.abandon();
    close();
  }

  /** What was held back when the client went away. */
  function close(): void {
    clearTimeout(patience);
    recording.context.signal.removeEventListener("abort", giveUp);
    restore();
    setClosed(res, true);
    original.emit.call(res, "close", ...(gone?.close ?? []));
  }
}

function explicitHeaders(given: OutgoingHttpHeaders | OutgoingHttpHeader[]): HeaderList {
  if (!Array.isArray(given)) return Object.entries(given).flatMap(([name, value]) => linesOf(name, value));
  return given.flatMap((name, index) => (index % 2 ? [] : linesOf(String(name), given[index + 1])));
}

/** Whether Node will refuse to end the response so. */
function refused(res: ServerResponse, chunk: unknown): boolean {
  if (chunk !== undefined && chunk !== null && typeof chunk !== "string" && !(chunk instanceof Uint8Array)) return true;
  const { statusCode, statusMessage, headersSent } = res;
  return (
    !headersSent && !(statusCode >= 100 && statusCode < 1000 && !/[^\t\x20-\x7e\x80-\xff]/.test(statusMessage ?? ""))
  );
}

function argumentsOf(rest: readonly unknown[]): { encoding: string | undefined; done: Done | undefined } {
  return {
    encoding: typeof rest[0] === "string" ? rest[0] : undefined,
    done: rest.find((value) => typeof value === "function") as Done | undefined,
  };
}

/** As a recording takes it: text only where it is UTF-8. */
function recordable(chunk: unknown, encoding: string | undefined): Uint8Array | string {
  if (typeof chunk !== "string" || encoding === undefined || encoding === "utf8") return chunk as Uint8Array | string;
  return Buffer.from(chunk, encoding as BufferEncoding);
}

/** What pipelines look at before they write. */
function setClosed(res: ServerResponse, closed: boolean): void {
  res.destroyed = closed;
  (res as ServerResponse & { _closed?: boolean })._closed = closed;
}

const ended = Symbol("@onceward/express");
type Pretending = ServerResponse & { [ended]?: boolean };

/** Answers true while the response pretends, and what the class says otherwise. */
function pretence(name: "headersSent" | "writableEnded"): PropertyDescriptor {
  const actual = Object.getOwnPropertyDescriptor(OutgoingMessage.prototype, name)?.get as (this: object) => boolean;
  return {
    configurable: true,
    get(this: Pretending) {
      return this[ended] || actual.call(this);
    },
  };
}

const pretences = { headersSent: pretence("headersSent"), writableEnded: pretence("writableEnded") };

/**
 * To the rest of the application the response has ended; error handlers must not begin another. The properties stay:
 * to delete them would make everything slower that is done with the response from then on.
 */
function pretendEnded(res: Pretending): void {
  res[ended] = true;
  Object.defineProperties(res, pretences);
}

function stopPretending(res: Pretending): void {
  res[ended] = false;
}
