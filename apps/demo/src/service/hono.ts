import { getRequestListener } from "@hono/node-server";
import { unprotectedContext } from "@onceward/core";
import { idempotency } from "@onceward/hono";
import { type Context, Hono } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { MountFramework } from "./mount.ts";
import type { RequestFacts } from "./route.ts";

const facts = (c: Context): RequestFacts => ({
  params: c.req.param() as Record<string, string>,
  header: (name) => c.req.header(name),
});

/** The routes on Hono. */
export const mountHono: MountFramework = async ({ routes, once, effects, traced }) => {
  const app = new Hono();
  for (const { method, path, idempotency: options, handle } of routes) {
    const protection = once && options ? [idempotency(once, options(facts))] : [];
    app.on(
      method,
      path,
      (c, next) => traced(facts(c), next),
      ...protection,
      async (c) => {
        const request = facts(c);
        const body = c.req.header("content-type")?.includes("json") ? await c.req.json() : {};
        const context = c.get("idempotency") ?? unprotectedContext();
        const reply = await handle({ ...request, body, idempotency: context, effects: effects(request) });
        return c.json(reply.body as object, reply.status as ContentfulStatusCode);
      },
    );
  }
  return getRequestListener(app.fetch);
};
