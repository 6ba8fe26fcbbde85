import { randomUUID } from "node:crypto";
import { request as forward, type IncomingMessage, type ServerResponse } from "node:http";
import { INSTANCE_HEADER, REQUEST_HEADER, RUN_HEADER } from "../shared/headers.ts";
import type { FeedEvent, Framework, Instance, RequestTrace, Side } from "../shared/messages.ts";
import type { Workers } from "./workers.ts";

/** Shares requests out between the two service processes, and keeps a trace of each. */
export interface Balancer {
  /** Serves a request whose `path` is the service's own. */
  balance(framework: Framework, side: Side, path: string, request: IncomingMessage, response: ServerResponse): void;
  /** Adds what Onceward tells of a request to its trace. */
  mark(event: FeedEvent): void;
  /** Ids of the records that requests with this key met. */
  idsOf(key: string): readonly string[];
}

const REMEMBERED = 1_000;
const KEY_HEADERS = ["idempotency-key", "x-idempotency-key"];

/** A balancer over these processes; `onTrace` hears of every change of a trace. */
export function createBalancer(workers: Workers, onTrace: (trace: RequestTrace) => void): Balancer {
  const traces = new Map<string, { trace: RequestTrace; key: string | undefined; ids: Set<string> }>();
  // Each side and framework takes its own turns, or one process would get all of one side.
  const turns = new Map<string, number>();

  function change(id: string, changes: Partial<RequestTrace>): void {
    const known = traces.get(id);
    if (!known) return;
    known.trace = { ...known.trace, ...changes };
    onTrace(known.trace);
  }

  function pick(asked: string | undefined, queue: string): Instance {
    if (asked === "A" || asked === "B") return asked;
    const turn = turns.get(queue) ?? 0;
    turns.set(queue, turn + 1);
    const [first, second]: [Instance, Instance] = turn % 2 === 0 ? ["A", "B"] : ["B", "A"];
    return workers.get(first) ? first : second;
  }

  function remember(trace: RequestTrace, key: string | undefined): void {
    traces.set(trace.id, { trace, key, ids: new Set() });
    const [oldest] = traces.keys();
    if (traces.size > REMEMBERED && oldest) traces.delete(oldest);
    onTrace(trace);
  }

  return {
    balance(framework, side, path, request, response) {
      const id = randomUUID();
      const { headers, method = "GET" } = request;
      const instance = pick(header(headers[INSTANCE_HEADER]), `${framework} ${side}`);
      const run = header(headers[RUN_HEADER]);
      const key = KEY_HEADERS.map((name) => header(headers[name])).find((value) => value !== undefined);
      const [pathname = path] = path.split("?", 1);
      const base = { id, run, side, framework, instance, method, path: pathname };
      remember({ ...base, startedAt: Date.now(), fate: "open", marks: [] }, key);
      const end = (fate: RequestTrace["fate"], status?: number) => {
        if (traces.get(id)?.trace.fate === "open") change(id, { fate, status, endedAt: Date.now() });
      };

      const worker = workers.get(instance);
      if (!worker) {
        end("cut-off");
        response.writeHead(502, { "content-type": "text/plain" }).end(`Process ${instance} is not running.\n`);
        return;
      }
      const upstream = forward(
        {
          host: "127.0.0.1",
          port: worker.ports[framework][side],
          method,
          path,
          headers: { ...headers, [REQUEST_HEADER]: id },
        },
        (answer) => {
          response.writeHead(answer.statusCode ?? 502, { ...answer.headers, "x-served-by": `process ${instance}` });
          answer.pipe(response);
          answer.on("end", () => end("answered", answer.statusCode));
          answer.on("error", () => response.destroy());
        },
      );
      upstream.on("error", () => {
        end("cut-off");
        if (response.headersSent) response.destroy();
        else response.writeHead(502, { "content-type": "text/plain" }).end(`Process ${instance} went away.\n`);
      });
      response.on("close", () => {
        if (response.writableFinished) return;
        end("gave-up");
        upstream.destroy();
      });
      request.pipe(upstream);
    },
    mark({ request, type, at, id, key }) {
      const known = request === undefined ? undefined : traces.get(request);
      if (!known) return;
      if (id !== undefined) known.ids.add(id);
      change(known.trace.id, { key, marks: [...known.trace.marks, { at, type }] });
    },
    idsOf(key) {
      const found = [...traces.values()].filter((known) => known.key === key).flatMap(({ ids }) => [...ids]);
      return [...new Set(found)];
    },
  };
}

const header = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value);
