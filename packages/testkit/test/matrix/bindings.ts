import { serveExpress4, serveExpress5 } from "../../../express/test/serve.ts";
import { serveFastify } from "../../../fastify/test/serve.ts";
import { headerOf, serveHono } from "../../../hono/test/serve.ts";
import type { BindingSetup, BindingSuite, KitServer } from "../../src/index.ts";

/** What a binding brings to a suite, whatever the type of its framework's request. */
export type Binding = Pick<BindingSuite<never>, "serve" | "header">;

const binding = <Request>(
  serve: (setup: BindingSetup<Request>) => Promise<KitServer>,
  header?: BindingSuite<Request>["header"],
): Binding => ({ serve, header }) as Binding;

/** Every binding, by the name of its framework. */
export const bindings = {
  "Express 5": binding(serveExpress5),
  "Express 4": binding(serveExpress4),
  Fastify: binding(serveFastify),
  Hono: binding(serveHono, headerOf),
} as const;

/** Names of {@link bindings}. */
export type BindingName = keyof typeof bindings;
/** All of them. */
export const bindingNames = Object.keys(bindings) as BindingName[];
