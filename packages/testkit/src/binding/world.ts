import { randomUUID } from "node:crypto";
import { type Context, type HeaderList, type HttpOptions, type Onceward, onceward, type Store } from "@onceward/core";
import { type Client, createClient } from "./client.ts";
import type { BindingSuite, KitResponse } from "./suite.ts";

/** One server with a client, and what the handler saw. */
export interface World {
  readonly client: Client;
  readonly once: Onceward;
  /** Contexts of the handler's runs. */
  readonly runs: Context[];
  /** How often the store was called. */
  readonly storeCalls: () => number;
}

/** What a case starts a server with. */
export interface Setting<Request> {
  readonly options?: HttpOptions<Request>;
  readonly handle?: (context: Context, run: number) => KitResponse | Promise<KitResponse>;
  readonly before?: HeaderList;
}

/** Gives a case its servers, and ends them after it. */
export class Worlds<Request> {
  readonly #suite: BindingSuite<Request>;
  readonly #ends: (() => Promise<void>)[] = [];

  constructor(suite: BindingSuite<Request>) {
    this.#suite = suite;
  }

  async start({ options = {}, handle = () => text("done"), before = [] }: Setting<Request> = {}): Promise<World> {
    const { store, calls } = counting(await this.#suite.createStore());
    const once = onceward({ store });
    const runs: Context[] = [];
    const server = await this.#suite.serve({
      once,
      options: { scope: "shared", ...options },
      before,
      handle: async (context) => handle(context, runs.push(context)),
    });
    const client = createClient(server.port);
    this.#ends.push(async () => {
      client.close();
      await server.close();
      await once.close({ drainMs: 1_000 });
    });
    return { client, once, runs, storeCalls: calls };
  }

  async end(): Promise<void> {
    for (const end of this.#ends.splice(0)) await end();
  }
}

/** A plain response. */
export function text(body: string, status = 201, headers: HeaderList = []): KitResponse {
  return { status, headers: [["Content-Type", "text/plain"], ...headers], body: Buffer.from(body) };
}

/** Headers of a JSON request with a key; a new one unless given. */
export function keyed(key: string = randomUUID(), more: Readonly<Record<string, string | string[]>> = {}) {
  return { "content-type": "application/json", "idempotency-key": key, ...more };
}

/** Resolves when the condition holds. */
export async function eventually(
  what: string,
  patienceMs: number,
  holds: () => boolean | Promise<boolean>,
): Promise<void> {
  const giveUpAt = Date.now() + patienceMs;
  while (!(await holds())) {
    if (Date.now() > giveUpAt) throw new Error(`Did not happen within ${patienceMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A door that a handler waits at until the case opens it. */
export function door() {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** The same store, counting its calls. */
function counting(store: Store): { store: Store; calls: () => number } {
  let calls = 0;
  const proxy = new Proxy(store, {
    get(target, name) {
      const member = Reflect.get(target, name) as unknown;
      if (typeof member !== "function" || name === "onEvent" || name === "close") return member;
      return (...args: unknown[]) => {
        calls += 1;
        return (member as (...args: unknown[]) => unknown).apply(target, args);
      };
    },
  });
  return { store: proxy, calls: () => calls };
}
