import { createRequire } from "node:module";
import type { MakeSubject, Payload } from "../subject.ts";

const require = createRequire(import.meta.url);

interface Reply {
  statusCode: number;
  setHeader(name: string, value: string): void;
  getHeaders(): Record<string, string>;
  status(code: number): Reply;
  send(body: unknown): void;
}
type Middleware = (req: object, res: Reply, next: (error?: Error) => void) => Promise<void>;

/**
 * Its middleware with the least of a request and a response around it. It finds, then creates: two concurrent firsts both
 * run. It answers before it has stored, and calls `next` after a replay too, so that the handler must ask `isHit`.
 */
export const expressIdempotencyRedis: MakeSubject = async (work, { redisUrl }) => {
  const { idempotency } = require("express-idempotency") as { idempotency(options: object): Middleware };
  const { default: Adapter } = require("express-idempotency-redis-adapter") as {
    default: new (options: object) => { connect(): Promise<void>; disconnect(): Promise<void> };
  };
  const dataAdapter = new Adapter({ connectionConfig: { url: redisUrl } });
  await dataAdapter.connect();
  const middleware = idempotency({ dataAdapter });

  const request = (key: string, body: Payload) =>
    new Promise<unknown>((resolve, reject) => {
      const headers: Record<string, string> = { "idempotency-key": key, "content-type": "application/json" };
      const req = { method: "POST", url: "/orders", query: {}, headers, body, get: (name: string) => headers[name] };
      const sent: Record<string, string> = {};
      const res: Reply = {
        statusCode: 200,
        setHeader: (name, value) => {
          sent[name] = value;
        },
        getHeaders: () => sent,
        status(code) {
          res.statusCode = code;
          return res;
        },
        send: (text) => resolve(typeof text === "string" ? JSON.parse(text) : text),
      };
      const next = (error?: Error) => {
        if (error) reject(error);
        else if (headers["x-hit"] === undefined) void work(body).then((result) => res.send(JSON.stringify(result)));
      };
      middleware(req, res, next).catch(reject);
    });
  return { request, close: () => dataAdapter.disconnect() };
};
