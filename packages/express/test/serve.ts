/// <reference path="./express-4.d.ts" />
import type { AddressInfo } from "node:net";
import { pipeline, Readable } from "node:stream";
import type { BindingSetup, KitServer } from "@onceward/testkit";
import express, { type NextFunction, type Request, type RequestHandler, type Response } from "express";
import express4 from "express-4";
import { idempotency } from "../src/index.ts";

/** A server for the kit on that Express, with these parsers in front. */
export async function serveExpress(
  framework: typeof express,
  parsers: readonly RequestHandler[],
  { once, options, routeOptions, handle, before }: BindingSetup<Request>,
): Promise<KitServer> {
  const handler = (req: Request, res: Response, next: NextFunction) => {
    handle(req.idempotency, () => readBody(req))
      .then(({ status, headers = [], body }) => {
        res.status(status);
        const set = new Set<string>();
        for (const [name, value] of headers) {
          if (set.has(name)) res.append(name, value);
          else res.setHeader(name, value);
          set.add(name);
        }
        if (body === undefined) res.end();
        else if (body instanceof Uint8Array) res.send(Buffer.from(body));
        else pipeline(Readable.from(body, { objectMode: false }), res, () => {});
      })
      .catch(next);
  };
  const app = framework();
  app.use((_req, res, next) => {
    for (const [name, value] of before) res.setHeader(name, value);
    next();
  });
  const mounted = framework.Router();
  mounted.all("/orders", ...parsers, idempotency(once, options), handler);
  app.use("/mounted", mounted);
  const protect = idempotency.defaults(once, options);
  app.all("/orders", ...parsers, protect(), handler);
  app.all("/refunds", ...parsers, protect(routeOptions), handler);
  app.use((error: Error & { status?: number }, _req: Request, res: Response, next: NextFunction) => {
    if (res.headersSent) next(error);
    else res.status(error.status ?? 500).send("failed");
  });
  const server = await new Promise<ReturnType<typeof app.listen>>((resolve) => {
    const started = app.listen(0, "127.0.0.1", () => resolve(started));
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readBody(req: Request): Promise<unknown> {
  // Express 4 shows `{}` where nothing has parsed.
  if (req.readableEnded) return req.body as unknown;
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString());
}

/** Express 5 with its parsers, as most applications have it. */
export const serveExpress5 = (setup: BindingSetup<Request>) =>
  serveExpress(express, [express.json(), express.urlencoded({ extended: false })], setup);

/** Express 4 without a parser. */
export const serveExpress4 = (setup: BindingSetup<Request>) => serveExpress(express4, [], setup);
