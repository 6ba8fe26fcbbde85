import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as NodeReadableStream } from "node:stream/web";
import type { BindingSetup, KitServer } from "@onceward/testkit";
import type { Context } from "hono";
import { appOf } from "./serve.ts";

/** What a runtime of web standards does: native requests and responses, and an execution context. */
async function answer(app: ReturnType<typeof appOf>, incoming: IncomingMessage, outgoing: ServerResponse) {
  const gone = new AbortController();
  outgoing.on("close", () => outgoing.writableFinished || gone.abort());
  const headers = new Headers();
  for (let index = 0; index < incoming.rawHeaders.length; index += 2)
    headers.append(incoming.rawHeaders[index] as string, incoming.rawHeaders[index + 1] as string);
  const method = incoming.method ?? "GET";
  const hasBody = method !== "GET" && method !== "HEAD";
  const target = incoming.url ?? "/";
  const request = new Request(target.startsWith("/") ? `http://localhost${target}` : target, {
    method,
    headers,
    signal: gone.signal,
    ...(hasBody ? { body: Readable.toWeb(incoming) as ReadableStream, duplex: "half" } : {}),
  } as RequestInit);
  const context = { waitUntil: () => {}, passThroughOnException: () => {}, props: {} };
  const response = await app.fetch(request, {}, context);
  const lines: Record<string, string | string[]> = Object.fromEntries(response.headers);
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) lines["set-cookie"] = cookies;
  outgoing.writeHead(response.status, lines);
  if (!response.body) outgoing.end();
  else await pipeline(Readable.fromWeb(response.body as NodeReadableStream), outgoing);
}

/** A server for the kit, for fetch handlers as Bun, Deno and edge runtimes call them. */
export async function serveFetch(setup: BindingSetup<Context>): Promise<KitServer> {
  const app = appOf(setup);
  const server = createServer((incoming, outgoing) => {
    answer(app, incoming, outgoing).catch(() => {
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(400).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
