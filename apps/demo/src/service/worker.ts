/**
 * One process of the service: every route on Express, Fastify and Hono, each with Onceward and without. The main
 * process starts two of them, and kills one in one of the scenes.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type Onceward, type OncewardEvent, onceward } from "@onceward/core";
import { REQUEST_HEADER, RUN_HEADER } from "../shared/headers.ts";
import { type FeedEvent, type Framework, frameworks, type Instance, type Side } from "../shared/messages.ts";
import { rpc } from "../shared/rpc.ts";
import { describeEvent } from "./describe-event.ts";
import type { AuditEvent, AuditStream, Effects } from "./effects.ts";
import { mountExpress } from "./express.ts";
import { mountFastify } from "./fastify.ts";
import { mountHono } from "./hono.ts";
import type { MountFramework } from "./mount.ts";
import type { RequestFacts } from "./route.ts";
import { serviceRoutes } from "./routes/index.ts";
import { type OpenStore, openStore, type StoreSource } from "./store-source.ts";

/** Ports of one process, by framework and side. */
export type WorkerPorts = Readonly<Record<Framework, Readonly<Record<Side, number>>>>;

const instance = process.argv[2] as Instance;
const mounts: Record<Framework, MountFramework> = { express: mountExpress, fastify: mountFastify, hono: mountHono };
const listeners = new Map<string, RequestListener>();
const trace = new AsyncLocalStorage<{ request: string | undefined; run: string | undefined }>();
let current: { all: readonly Onceward[]; opened: OpenStore } | undefined;

const call = rpc(process, {
  "service.use": ([source]) => use(source as StoreSource),
  "service.close": () => close(),
});
// Without the main process there is nobody to serve.
process.on("disconnect", () => process.exit(0));
// Ctrl-C reaches the whole group; the main process ends this one when its work is done.
process.on("SIGINT", () => {});

const audit: AuditStream = {
  submitted: async (...args) => void (await call("audit.submitted", args)),
  replayed: async (...args) => void (await call("audit.replayed", args)),
  of: async (...args) => (await call("audit.of", args)) as AuditEvent[],
};

function effects(side: Side, request: RequestFacts): Effects {
  const origin = { side, run: request.header(RUN_HEADER), instance };
  const append = async (kind: string, prefix: string, what: string) =>
    (await call("ledger.append", [{ ...origin, kind, what }, prefix])) as string;
  return {
    record: (prefix, what) => append("record", prefix, what),
    mail: (what) => append("mail", "mail", what),
  };
}

/** From now on, requests are served from this store. */
async function use(source: StoreSource): Promise<void> {
  const opened = openStore(source, call);
  const routes = serviceRoutes(audit);
  const all: Onceward[] = [];
  for (const framework of frameworks) {
    // Three applications on one store: their keys must not meet.
    const once = onceward({ store: opened.store, namespace: `playground-${framework}` });
    once.on("*", tell);
    all.push(once);
    for (const side of ["with", "without"] as const) {
      const listener = await mounts[framework]({
        routes,
        once: side === "with" ? once : undefined,
        effects: (request) => effects(side, request),
        traced: (request, rest) =>
          trace.run({ request: request.header(REQUEST_HEADER), run: request.header(RUN_HEADER) }, rest),
      });
      listeners.set(`${framework} ${side}`, listener);
    }
  }
  await close();
  current = { all, opened };
}

/** Lets running work end. */
async function close(): Promise<void> {
  const former = current;
  current = undefined;
  await Promise.all(former?.all.map((once) => once.close()) ?? []);
  await former?.opened.disconnect();
}

function tell(event: OncewardEvent): void {
  const { at, type } = event;
  const named = "id" in event ? { id: event.id, operation: event.operation, key: event.key } : {};
  const ageMs = event.type === "replayed" ? event.ageMs : undefined;
  const told: FeedEvent = { at, type, ...named, ...trace.getStore(), instance, ageMs, detail: describeEvent(event) };
  // The feed is for show: nothing waits for it.
  call("feed.event", [told]).catch(() => {});
}

function listen(framework: Framework, side: Side): Promise<number> {
  const server = createServer((request, response) => {
    const listener = listeners.get(`${framework} ${side}`);
    if (listener) listener(request, response);
    else response.writeHead(503).end();
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

const ports = Object.fromEntries(
  await Promise.all(
    frameworks.map(async (framework) => [
      framework,
      { with: await listen(framework, "with"), without: await listen(framework, "without") },
    ]),
  ),
) as WorkerPorts;
await call("service.ready", [ports]);
