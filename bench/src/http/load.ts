/** A process that sends requests over kept connections, one at a time on each. */
import { connect, type Socket } from "node:net";
import { quantile } from "../statistics.ts";
import { keyOf, payloadOf } from "../subject.ts";

/** What to send. */
export interface LoadOptions {
  readonly port: number;
  readonly connections: number;
  readonly durationMs: number;
  readonly keys: "new" | "kept" | "none";
  /** Names the kept keys. */
  readonly series: string;
}

/** What came back. */
export interface Load {
  readonly requests: number;
  readonly replays: number;
  readonly perSecond: number;
  readonly p99Micros: number;
}

const keptKeys = 1_000;
const body = JSON.stringify(payloadOf(200));
const head = `POST /orders HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
let lastKey = 0;

function requestOf(keys: LoadOptions["keys"], series: string): string {
  if (keys === "none") return `${head}\r\n${body}`;
  const number = lastKey++;
  const key = keys === "new" ? keyOf("new", number) : keyOf(series, number % keptKeys);
  return `${head}Idempotency-Key: ${key}\r\n\r\n${body}`;
}

/** Where a response ends in what has arrived; 0 when it has not all arrived. */
function endOf(text: string): number {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd < 0) return 0;
  const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
  if (length !== undefined) return text.length >= headEnd + 4 + Number(length) ? headEnd + 4 + Number(length) : 0;
  const end = text.indexOf("\r\n0\r\n\r\n", headEnd);
  return end < 0 ? 0 : end + 7;
}

async function load(options: LoadOptions): Promise<Load> {
  const { port, connections, durationMs, keys, series } = options;
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(port)));
  let requests = 0;
  let replays = 0;
  const latencies: number[] = [];
  const startedAt = performance.now();
  const endsAt = startedAt + durationMs;
  const loop = (socket: Socket) =>
    new Promise<void>((resolve, reject) => {
      let sentAt = 0;
      let text = "";
      const send = () => {
        sentAt = performance.now();
        if (sentAt >= endsAt) resolve();
        else socket.write(requestOf(keys, series));
      };
      socket.on("error", reject);
      socket.on("data", (chunk: Buffer) => {
        text += chunk.toString("latin1");
        if (endOf(text) === 0) return;
        if (!text.startsWith("HTTP/1.1 201")) return reject(new Error(text));
        if (/\r\nidempotent-replayed: true/i.test(text)) replays++;
        text = "";
        requests++;
        latencies.push(performance.now() - sentAt);
        send();
      });
      send();
    });
  // Never asleep: to wake a process costs whoever writes to it 10 µs, and only slow servers would pay for it.
  let spinning = true;
  const spin = () => spinning && setImmediate(spin);
  spin();
  await Promise.all(sockets.map(loop));
  spinning = false;
  const elapsedMs = performance.now() - startedAt;
  for (const socket of sockets) socket.destroy();
  return { requests, replays, perSecond: (requests / elapsedMs) * 1_000, p99Micros: quantile(latencies, 0.99) * 1_000 };
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true }, () => resolve(socket));
    socket.once("error", reject);
  });
}

process.on("message", ({ id, options }: { id: number; options: LoadOptions }) => {
  load(options).then(
    (value) => process.send?.({ id, value }),
    (error: Error) => process.send?.({ id, error: error.stack }),
  );
});
process.on("disconnect", () => process.exit());
process.send?.({ id: 0, value: "ready" });
