import type { AddressInfo } from "node:net";
import { serve as serveNode } from "@hono/node-server";
import type { BindingSetup, KitServer } from "@onceward/testkit";
import { type Context, Hono } from "hono";
import { idempotency } from "../src/index.ts";

/** For the kit: how functions among the options read a header. */
export const headerOf = (c: Context, name: string): string | undefined => c.req.header(name);

/** An app for the kit, which any server can put on the wire. */
export function appOf({ once, options, routeOptions, handle, before }: BindingSetup<Context>): Hono {
  const routes = (app: Hono) => {
    app.use(async (c, next) => {
      for (const [name, value] of before) c.header(name, value);
      await next();
    });
    const protect = idempotency.defaults(once, options);
    app.use("/orders", protect());
    app.use("/refunds", protect(routeOptions));
    app.all("/*", async (c) => {
      const { status, headers = [], body } = await handle(c.get("idempotency"), () => c.req.json());
      const set = new Set<string>();
      for (const [name, value] of headers) {
        c.header(name, value, { append: set.has(name) });
        set.add(name);
      }
      c.status(status as 200);
      if (body === undefined) return c.body(null);
      return c.body((body instanceof Uint8Array ? body : ReadableStream.from(body)) as ReadableStream);
    });
    return app;
  };
  const app = new Hono();
  app.route("/mounted", routes(new Hono()));
  app.route("/", routes(new Hono()));
  app.onError((_error, c) => c.text("failed", 500));
  return app;
}

/** A server for the kit, on Hono's own Node server. */
export async function serveHono(setup: BindingSetup<Context>): Promise<KitServer> {
  const app = appOf(setup);
  const server = await new Promise<ReturnType<typeof serveNode>>((resolve) => {
    const started = serveNode({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, () => resolve(started));
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        if ("closeAllConnections" in server) server.closeAllConnections();
      }),
  };
}
