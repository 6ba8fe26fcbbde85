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

/** Each framework with one route, bare or with Onceward on the memory store before it. */
export const apps = {
  async Express(handle: Handle, bare: boolean): Promise<Server> {
    const app = express();
    app.use(express.json());
    const guards = bare ? [] : [forExpress(protection(), { scope: "shared" })];
    app.post("/orders", ...guards, (req, res) => {
      res.status(201).json(handle(req.body));
    });
    return createServer(app);
  },
  async Fastify(handle: Handle, bare: boolean): Promise<Server> {
    const app = fastify();
    if (!bare) await app.register(forFastify, { once: protection(), scope: "shared" });
    app.post("/orders", async (request, reply) => {
      reply.code(201);
      return handle(request.body);
    });
    await app.ready();
    return app.server;
  },
  async Hono(handle: Handle, bare: boolean): Promise<Server> {
    const app = new Hono();
    if (!bare) app.use("/orders", forHono(protection(), { scope: "shared" }));
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
