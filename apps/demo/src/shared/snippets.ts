import type { Framework, StoreKind } from "./messages.ts";

/** A route in a snippet. */
interface SnippetRoute {
  readonly path: string;
  /** Lines of the options' object. */
  readonly options: readonly string[];
  /** Whether the work is done in steps. */
  readonly steps?: boolean;
}

const submit = "/api/intakes/vendor-onboarding/submit";
const design = ["...dialects.formBridgeDesign", 'scope: () => "vendor-onboarding"'];
const formBroker: SnippetRoute = {
  path: "/api/forms/test-form/submit",
  options: ["...dialects.formBroker", 'scope: "shared"'],
};
const leads: SnippetRoute = { path: "/api/leads", options: ["...dialects.leads", 'scope: "shared"'] };

/** What each scene shows; a scene that is not listed shows the submit route as it is. */
const routesOfScenes: Readonly<Record<string, readonly SnippetRoute[]>> = {
  "double-click": [formBroker],
  storm: [{ path: submit, options: [...design, "maxWaiters: 100"] }],
  "other-data": [{ path: submit, options: design }, formBroker, leads],
  "slow-handler": [{ path: submit, options: [...design, "leaseMs: 900, // renewed every 300 ms"] }],
  "killed-runner": [{ path: submit, options: [...design, "leaseMs: 900"], steps: true }],
  outage: [{ path: submit, options: [...design, "failOpen: false, // the default"] }, leads],
  expiry: [{ path: submit, options: [...design, "ttlMs: 2_000"] }],
};

const stores: Readonly<Record<StoreKind, { readonly imports: readonly string[]; readonly setup: readonly string[] }>> =
  {
    memory: {
      imports: ['import { memoryStore } from "@onceward/store-memory";'],
      setup: ["const once = onceward({ store: memoryStore() });"],
    },
    pglite: {
      imports: [
        'import { PGlite } from "@electric-sql/pglite";',
        'import { postgresStore } from "@onceward/store-postgres";',
      ],
      setup: [
        'const store = postgresStore({ client: new PGlite("./records") });',
        "await store.migrate();",
        "const once = onceward({ store });",
      ],
    },
    redis: {
      imports: ['import { redisStore } from "@onceward/store-redis";', 'import { Redis } from "ioredis";'],
      setup: ["const once = onceward({ store: redisStore({ client: new Redis() }) });"],
    },
    postgres: {
      imports: ['import { postgresStore } from "@onceward/store-postgres";', 'import pg from "pg";'],
      setup: [
        "const store = postgresStore({ client: new pg.Pool() });",
        "await store.migrate();",
        "const once = onceward({ store });",
      ],
    },
  };

/** How a framework says things. */
interface Words {
  readonly imports: readonly string[];
  readonly setup: readonly string[];
  readonly request: string;
  readonly idempotency: string;
  readonly reply: string;
  route(path: string, options: readonly string[], handler: readonly string[]): readonly string[];
}

const inline = (options: readonly string[]) => options.map((option) => `    ${option.replace(/(,? \/\/.*)?$/, comma)}`);
const comma = (comment: string) => (comment.startsWith(",") ? comment : `,${comment}`);

const frameworks: Readonly<Record<Framework, Words>> = {
  express: {
    imports: ['import { idempotency } from "@onceward/express";', 'import express from "express";'],
    setup: ["const app = express();", "app.use(express.json());"],
    request: "req, res",
    idempotency: "req.idempotency",
    reply: "res.status(201).json({ ok: true, id });",
    route: (path, options, handler) => [
      "app.post(",
      `  "${path}",`,
      "  idempotency(once, {",
      ...inline(options),
      "  }),",
      ...handler,
      ");",
    ],
  },
  fastify: {
    imports: ['import { idempotency } from "@onceward/fastify";', 'import Fastify from "fastify";'],
    setup: ["const app = Fastify();", 'await app.register(idempotency, { once, scope: "shared" });'],
    request: "request, reply",
    idempotency: "request.idempotency",
    reply: "return reply.status(201).send({ ok: true, id });",
    route: (path, options, handler) => [
      "app.post(",
      `  "${path}",`,
      "  { config: { idempotency: {",
      ...inline(options),
      "  } } },",
      ...handler,
      ");",
    ],
  },
  hono: {
    imports: ['import { idempotency } from "@onceward/hono";', 'import { Hono } from "hono";'],
    setup: ["const app = new Hono();"],
    request: "c",
    idempotency: 'c.get("idempotency")',
    reply: "return c.json({ ok: true, id }, 201);",
    route: (path, options, handler) => [
      "app.post(",
      `  "${path}",`,
      "  idempotency(once, {",
      ...inline(options),
      "  }),",
      ...handler,
      ");",
    ],
  },
};

/** The code that configures what a scene shows. It compiles: a test sees to it. */
export function snippetFor(scene: string, framework: Framework, store: StoreKind): string {
  const words = frameworks[framework];
  const routes = routesOfScenes[scene] ?? [{ path: submit, options: design }];
  const steps = routes.some((route) => route.steps);
  const handler = (route: SnippetRoute) => [
    `  async (${words.request}) => {`,
    ...(route.steps
      ? [
          `    const id = await ${words.idempotency}.step("record", createRecord);`,
          `    await ${words.idempotency}.step("mail", () => sendMail(id));`,
        ]
      : ["    const id = await createRecord();"]),
    `    ${words.reply}`,
    "  },",
  ];
  return [
    'import { dialects, onceward } from "@onceward/core";',
    ...[...words.imports, ...stores[store].imports].sort(),
    `import { ${steps ? "createRecord, sendMail" : "createRecord"} } from "./your-code.ts";`,
    "",
    ...stores[store].setup,
    "",
    ...words.setup,
    ...routes.flatMap((route) => ["", ...words.route(route.path, route.options, handler(route))]),
    "",
  ].join("\n");
}
