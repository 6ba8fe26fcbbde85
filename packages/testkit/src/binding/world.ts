import { randomUUID } from "node:crypto";
import {
  type Context,
  type EventName,
  type EventOf,
  type HeaderList,
  type HttpOptions,
  type Onceward,
  type OncewardEvent,
  onceward,
} from "@onceward/core";
import { memoryBackend, memoryStore } from "@onceward/store-memory";
import { eventually } from "../store/waiting.ts";
import { type Client, createClient } from "./client.ts";
import { type Faults, withFaults } from "./faults.ts";
import type { BindingCase, BindingSuite, KitProcess, KitResponse } from "./suite.ts";

/** One server with a client, and what the handler saw. */
export interface World {
  readonly client: Client;
  readonly once: Onceward;
  /** Contexts of the handler's runs. */
  readonly runs: readonly Context[];
  readonly faults: Faults;
  /** The events of that name so far. */
  readonly events: <Name extends EventName>(name: Name) => EventOf<Name>[];
}

/** What a case starts a server with. */
export interface Setting<Request> {
  readonly options?: HttpOptions<Request>;
  readonly routeOptions?: HttpOptions<Request>;
  readonly handle?: (context: Context, run: number, body: () => unknown) => KitResponse | Promise<KitResponse>;
  readonly before?: HeaderList;
}

/** What a case works with. */
export interface Bench<Request> {
  readonly suite: BindingSuite<Request>;
  readonly patienceMs: number;
  /** Starts a server; it ends with the case. */
  readonly start: (setting?: Setting<Request>) => Promise<World>;
  /** Starts a process; it ends with the case. */
  readonly startProcess: (options: { readonly leaseMs: number }) => Promise<KitProcess & { readonly client: Client }>;
  /** Resolves when it holds. */
  readonly until: (what: string, holds: () => boolean | Promise<boolean>) => Promise<void>;
  /** Reads a header of the framework's request. */
  readonly header: (request: Request, name: string) => string | undefined;
}

/** Adds a case to a group. */
export type Declare<Request> = (name: string, run: (bench: Bench<Request>) => Promise<void>) => void;
/** Declares the cases of a group. */
export type Group = <Request>(declare: Declare<Request>, suite: BindingSuite<Request>) => void;

/** Makes a runnable case of a declared one. */
export function caseOf<Request>(
  suite: BindingSuite<Request>,
  group: string,
  name: string,
  run: (bench: Bench<Request>) => Promise<void>,
): BindingCase {
  const { patienceMs = 10_000, header = headerOf } = suite;
  return {
    name,
    group,
    async run() {
      const ends: (() => Promise<void>)[] = [];
      try {
        await run({
          suite,
          patienceMs,
          header,
          start: (setting) => startWorld(suite, setting ?? {}, ends),
          async startProcess(options) {
            const started = await suite.startProcess?.(options);
            if (!started) throw new Error("This case needs startProcess");
            const client = createClient(started.port, patienceMs);
            ends.push(async () => {
              client.close();
              await started.kill();
            });
            return { ...started, client };
          },
          until: (what, holds) => eventually(what, holds, patienceMs),
        });
      } finally {
        await Promise.all(ends.map((end) => end()));
      }
    },
  };
}

/** One backend for a suite that names no store, so that its servers share their records. */
const backends = new WeakMap<object, ReturnType<typeof memoryBackend>>();

function backendOf(suite: object) {
  const backend = backends.get(suite) ?? memoryBackend();
  backends.set(suite, backend);
  return backend;
}

async function startWorld<Request>(
  suite: BindingSuite<Request>,
  setting: Setting<Request>,
  ends: (() => Promise<void>)[],
): Promise<World> {
  const { options = {}, routeOptions = {}, handle = () => text("done"), before = [] } = setting;
  const { createStore = () => memoryStore({ backend: backendOf(suite) }), patienceMs = 10_000 } = suite;
  const { store, faults } = withFaults(await createStore());
  const once = onceward({ store });
  const runs: Context[] = [];
  const events: OncewardEvent[] = [];
  once.on("*", (event) => void events.push(event));
  const server = await suite.serve({
    once,
    options: { scope: "shared", ...options },
    routeOptions,
    before,
    handle: async (context, body) => handle(context, runs.push(context), body),
  });
  const client = createClient(server.port, patienceMs);
  ends.push(async () => {
    client.close();
    await server.close();
    faults.down.clear();
    await once.close({ drainMs: 1_000 });
  });
  return {
    client,
    once,
    runs,
    faults,
    events: <Name extends EventName>(name: Name) =>
      events.filter((event): event is EventOf<Name> & OncewardEvent => event.type === name),
  };
}

function headerOf(request: unknown, name: string): string | undefined {
  const { headers } = request as { headers: Headers | Record<string, string | undefined> };
  return (headers instanceof Headers ? headers.get(name) : headers[name]) ?? undefined;
}

/** A plain response. */
export function text(body: string, status = 201, headers: HeaderList = []): KitResponse {
  return { status, headers: [["Content-Type", "text/plain"], ...headers], body: Buffer.from(body) };
}

/** Headers of a JSON request with a key; a new one unless given. */
export function keyed(key: string = randomUUID(), more: Readonly<Record<string, string | string[]>> = {}) {
  return { "content-type": "application/json", "idempotency-key": key, ...more };
}

/** A door that a handler waits at until the case opens it. */
export function door() {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}
