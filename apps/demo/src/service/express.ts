import { unprotectedContext } from "@onceward/core";
import { idempotency } from "@onceward/express";
import express, { type Request } from "express";
import type { MountFramework } from "./mount.ts";
import type { RequestFacts } from "./route.ts";

const facts = (req: Request): RequestFacts => ({
  params: req.params as Record<string, string>,
  header: (name) => req.header(name),
});

/** The routes on Express. */
export const mountExpress: MountFramework = async ({ routes, once, effects, traced }) => {
  const app = express();
  app.disable("x-powered-by");
  app.use(express.json());
  for (const { method, path, idempotency: options, handle } of routes) {
    const protection = once && options ? [idempotency(once, options(facts))] : [];
    app[method.toLowerCase() as "get" | "post" | "patch"](
      path,
      (req, _res, next) => traced(facts(req), next),
      ...protection,
      async (req, res) => {
        const request = facts(req);
        const context = req.idempotency ?? unprotectedContext();
        const reply = await handle({
          ...request,
          body: req.body ?? {},
          idempotency: context,
          effects: effects(request),
        });
        res.status(reply.status).json(reply.body);
      },
    );
  }
  return app;
};
