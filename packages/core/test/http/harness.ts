import { memoryStore } from "@onceward/store-memory";
import { afterEach } from "vitest";
import {
  type HeaderList,
  type HttpDecision,
  type HttpOptions,
  type HttpRequestView,
  type HttpResponse,
  httpGuard,
  type Onceward,
  onceward,
  type Store,
} from "../../src/index.ts";
import { type FaultyStore, faultyStore, refused } from "../engine/faulty-store.ts";

/** A request as a framework might have it. */
export interface Asked {
  readonly method?: string;
  readonly path?: string;
  readonly query?: string;
  readonly headers?: Record<string, string>;
  /** Headers of a framework that doesn't join repeated ones. */
  readonly lines?: Record<string, readonly string[]>;
  readonly body?: unknown;
  readonly user?: string;
  readonly before?: HeaderList;
  readonly signal?: AbortSignal;
  readonly hasGone?: () => boolean;
}

const opened: Onceward[] = [];
afterEach(async () => void (await Promise.all(opened.splice(0).map((once) => once.close()))));

/** A guard on a store, and what sends requests to it. */
export function setUp(options: HttpOptions<Asked> = {}, store: Store = memoryStore()) {
  const once = onceward({ store });
  opened.push(once);
  const guard = httpGuard<Asked>(once, "idempotency", { scope: "shared" }, options);
  const enter = (asked: Asked) =>
    guard.enter({
      request: asked,
      identity: asked,
      method: asked.method ?? "POST",
      path: () => asked.path ?? "/orders",
      query: () => asked.query ?? "",
      header: (name) => asked.lines?.[name] ?? (asked.headers?.[name] === undefined ? [] : [asked.headers[name]]),
      body: () => ({ kind: "parsed", value: asked.body ?? {} }),
      responseHeaders: () => asked.before ?? [],
      get signal() {
        return asked.signal;
      },
      hasGone: asked.hasGone,
    } satisfies HttpRequestView<Asked>);
  return { once, guard, enter };
}

/** A JSON request with the key `k`. */
export const keyed = (more: Asked = {}): Asked => ({
  ...more,
  headers: { "content-type": "application/json", "idempotency-key": "k", ...more.headers },
});

/** Lets the handler answer. */
export async function finish(
  decision: HttpDecision | undefined,
  status = 201,
  headers: HeaderList = [],
  body = "done",
) {
  if (decision?.kind !== "run") throw new Error(`expected to run, not ${JSON.stringify(decision)}`);
  decision.recording.write(new TextEncoder().encode(body));
  return decision.recording.finish(status, headers);
}

/** The answer that replaces the handler's. */
export function answer(decision: HttpDecision | undefined): HttpResponse {
  if (decision?.kind !== "answer") throw new Error(`expected an answer, not ${decision?.kind}`);
  return decision.response;
}

/** The values of a header. */
export const header = (response: HttpResponse, name: string) =>
  response.headers.filter(([other]) => other.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
/** A JSON body. */
export const problem = (response: HttpResponse) =>
  JSON.parse(new TextDecoder().decode(response.body)) as Record<string, unknown>;

/** What a client of {@link serve} sees. */
export interface Reply {
  readonly status: number;
  readonly json: Record<string, unknown>;
  readonly header: (name: string) => string | undefined;
  /** Whether the handler ran for it. */
  readonly ran: boolean;
}

type Handler = (
  run: number,
  asked: Asked,
) => { status?: number; json?: unknown } | Promise<{ status?: number; json?: unknown }>;

/** An endpoint behind a guard: sends requests all the way, as a binding would. */
export function serve(options: HttpOptions<Asked>, handler: Handler = (run) => ({ json: { id: run } }), store?: Store) {
  const { once, enter } = setUp(options, store);
  let runs = 0;
  const send = async (asked: Asked): Promise<Reply> => {
    const headers = { "content-type": "application/json", ...asked.headers };
    const decision = await enter({ ...asked, headers });
    if (decision?.kind === "gone") throw new Error("the client is still there");
    if (decision?.kind === "answer") return replyOf(decision.response, false);
    runs += 1;
    const { status = 201, json = {} } = await handler(runs, asked);
    const response = {
      status,
      headers: [["Content-Type", "application/json"]] as HeaderList,
      body: utf8.encode(JSON.stringify(json)),
    };
    if (!decision) return replyOf(response, true);
    decision.recording.write(response.body);
    return replyOf((await decision.recording.finish(response.status, response.headers)) ?? response, true);
  };
  return { once, send, runs: () => runs };
}

const utf8 = new TextEncoder();

function replyOf(response: HttpResponse, ran: boolean): Reply {
  return { status: response.status, json: problem(response), header: (name) => header(response, name)[0], ran };
}

/** A store that can't be reached. */
export function unreachableStore(): FaultyStore {
  const store = faultyStore(memoryStore());
  store.everything(refused());
  return store;
}
