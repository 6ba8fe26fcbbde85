import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { type Onceward, onceward } from "@onceward/core";
import { idempotency as forExpress } from "@onceward/express";
import { idempotency as forFastify } from "@onceward/fastify";
import { idempotency as forHono } from "@onceward/hono";
import { memoryStore } from "@onceward/store-memory";
import express from "express";
import { fastify } from "fastify";
import { Hono } from "hono";

/** What the handlers answer with; they all have parsed the body. */
export type Handle = (body: unknown) => object;

const protection = (): Onceward => onceward({ store: memoryStore({ maxRecords: Number.POSITIVE_INFINITY }) });

/** What comes before the handler: nothing, a middleware or plugin that does nothing, or Onceward on the memory store. */
export type Guarded = "bare" | "idle" | "Onceward";

/** Each framework with one route. */
export const apps = {
  async Express(handle: Handle, guarded: Guarded): Promise<Server> {
    const app = express();
    app.use(express.json());
    const guards = {
      bare: [],
      idle: [(_req: unknown, _res: unknown, next: () => void) => next()],
      Onceward: [forExpress(protection(), { scope: "shared" })],
    }[guarded];
    app.post("/orders", ...guards, (req, res) => {
      res.status(201).json(handle(req.body));
    });
    return createServer(app);
  },
  async Fastify(handle: Handle, guarded: Guarded): Promise<Server> {
    const app = fastify();
    if (guarded === "idle") await app.register(async () => {});
    if (guarded === "Onceward") await app.register(forFastify, { once: protection(), scope: "shared" });
    app.post("/orders", async (request, reply) => {
      reply.code(201);
      return handle(request.body);
    });
    await app.ready();
    return app.server;
  },
  async Hono(handle: Handle, guarded: Guarded): Promise<Server> {
    const app = new Hono();
    if (guarded === "idle") app.use("/orders", (_c, next) => next());
    if (guarded === "Onceward") app.use("/orders", forHono(protection(), { scope: "shared" }));
    app.post("/orders", async (c) => c.json(handle(await c.req.json()), 201));
    return createServer(getRequestListener(app.fetch));
  },
};

/** Names of the frameworks. */
export type Framework = keyof typeof apps;

/** Starts to listen on any free port of loopback. */
export function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}
