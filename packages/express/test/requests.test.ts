import { isOncewardError, type OncewardError } from "@onceward/core";
import express, { type NextFunction, type Request, type RequestHandler, type Response } from "express";
import express4 from "express-4";
import { describe, expect, expectTypeOf, it } from "vitest";
import { type IdempotencyOptions, idempotency } from "../src/index.ts";
import { listen, post, testOnce } from "./app.ts";

const scope = "shared";
const json = { "content-type": "application/json" };

async function textOf(req: Request): Promise<string> {
  let text = "";
  for await (const chunk of req) text += String(chunk);
  return text;
}

/** Tells of the error that reached the application's error handler. */
const tell = (error: OncewardError, _req: Request, res: Response, _next: NextFunction) =>
  res.status(500).json({ ours: isOncewardError(error), code: error.code, message: error.message });

describe.each([
  ["Express 5", express],
  ["Express 4", express4],
])("%s", (_name, framework) => {
  const bodies: [string, RequestHandler[], (req: Request) => unknown][] = [
    ["no parser, the handler reads the stream", [], textOf],
    ["express.json", [framework.json()], (req) => JSON.stringify(req.body)],
    ["express.text", [framework.text({ type: "*/*" })], (req) => req.body],
    ["express.raw", [framework.raw({ type: "*/*" })], (req) => String(req.body)],
  ];

  it.each(bodies)("sees the body with %s", async (_parser, parsers, read) => {
    const app = framework();
    app.post("/", ...parsers, idempotency(testOnce(), { scope }), (req, res, next) => {
      Promise.resolve(read(req)).then((text) => res.send({ text }), next);
    });
    const { url } = await listen(app);
    const body = '{"amount":1}';
    expect(JSON.parse((await post(url, "k", { body, headers: json })).text)).toEqual({ text: body });
    expect((await post(url, "k", { body, headers: json })).replayed).toBe(true);
    expect((await post(url, "k", { body: '{"amount":2}', headers: json })).status).toBe(422);
  });

  it("takes a parsed {} for what it is", async () => {
    const app = framework();
    app.post("/", framework.json(), idempotency(testOnce(), { scope }), (req, res) => res.send(req.body));
    const { url } = await listen(app);
    expect((await post(url, "k", { body: "{ }", headers: json })).status).toBe(200);
    expect((await post(url, "k", { body: "{}", headers: json })).replayed).toBe(true);
  });

  it("leaves the body to a parser behind it", async () => {
    const app = framework();
    app.post("/", idempotency(testOnce(), { scope }), framework.json(), (req, res) => res.send(req.body));
    const { url } = await listen(app);
    const body = JSON.stringify({ list: Array.from({ length: 5_000 }, (_, index) => index) });
    expect((await post(url, "k", { body, headers: json })).text).toBe(body);
    expect((await post(url, "k", { body, headers: json })).text).toBe(body);
  });

  it("refuses a body over the limit, declared or not, and serves on", async () => {
    const app = framework();
    app.post("/", idempotency(testOnce(), { scope, maxBodyBytes: 1_000 }), (_req, res) => res.send("ok"));
    const { url } = await listen(app);
    const large = new Uint8Array(300_000);
    const stream = () => ({ body: new Blob([large]).stream(), duplex: "half" }) as RequestInit;
    expect((await post(url, "a", { body: large })).status).toBe(413);
    expect((await post(url, "b", stream())).status).toBe(413);
    expect((await post(url, "a", { body: new Uint8Array(1_000) })).status).toBe(200);
  });

  it("takes a body that something has read and not left behind for a mistake of the application's", async () => {
    const app = framework();
    app.post("/", (req, _res, next) => void req.resume().on("end", next));
    app.post("/", idempotency(testOnce(), { scope }), (_req, res) => res.send("never"));
    app.use(tell);
    const { url } = await listen(app);
    for (const type of ["text/plain", "multipart/form-data; boundary=x", "application/octet-stream"]) {
      const reply = await post(url, "k", { body: "some bytes", headers: { "content-type": type } });
      expect([reply.status, JSON.parse(reply.text)]).toMatchObject([500, { ours: true, code: "ERR_INVALID_OPTION" }]);
      expect(reply.text).toContain("body parser");
    }
  });

  it("does the same for JSON: an unread body that looks like {} is never taken for one", async () => {
    const app = framework();
    // A parser of another type: in Express 4 it leaves `{}` as the body.
    app.post("/", framework.urlencoded({ extended: false }), (req, _res, next) => void req.resume().on("end", next));
    app.post("/", idempotency(testOnce(), { scope }), (_req, res) => res.send("never"));
    app.use(tell);
    const { url } = await listen(app);
    const reply = await post(url, "k", { body: '{"amount":1,"currency":"EUR"}', headers: json });
    expect([reply.status, JSON.parse(reply.text)]).toMatchObject([500, { ours: true, code: "ERR_INVALID_OPTION" }]);
  });

  it("tells mounted routers apart, however deep", async () => {
    const app = framework();
    const router = framework.Router();
    let runs = 0;
    router.post("/orders", idempotency(testOnce(), { scope }), (_req, res) => res.json(++runs));
    app.use("/a", router);
    app.use("/b", framework.Router().use("/c", router));
    const { url } = await listen(app);
    for (const [path, run] of [
      ["/a/orders", 1],
      ["/b/c/orders", 2],
      ["/a/orders", 1],
      ["/b/c/orders", 2],
    ] as const)
      expect((await post(url + path, "k")).text).toBe(String(run));
  });

  it("releases the key when a handler throws, and leaves the error to the error handlers", async () => {
    const app = framework();
    let runs = 0;
    app.post("/", idempotency(testOnce(), { scope }), (_req, res) => {
      if (++runs === 1) throw Object.assign(new Error("on purpose"), { code: "MINE" });
      res.send("ok");
    });
    app.use(tell);
    const { url } = await listen(app);
    expect(JSON.parse((await post(url, "k")).text)).toMatchObject({ ours: false, code: "MINE" });
    expect((await post(url, "k")).text).toBe("ok");
  });

  it("abandons a response whose handler fails in the middle of it", async () => {
    const app = framework();
    const attempts: number[] = [];
    app.post("/", idempotency(testOnce({ leaseMs: 60 }), { scope }), (req, res, next) => {
      attempts.push(req.idempotency.attempt);
      if (attempts.length > 1) return void res.send("ok");
      res.write("half of it");
      setImmediate(() => next(new Error("on purpose")));
    });
    const { url } = await listen(app);
    await expect(post(url, "k")).rejects.toThrow();
    expect((await post(url, "k")).text).toBe("ok");
    expect(attempts).toEqual([1, 2]);
  });

  it("takes a second idempotency on one request for a mistake of the application's", async () => {
    const once = testOnce();
    const app = framework();
    app.post("/", idempotency(once, { scope }), idempotency(once, { scope }), (_req, res) => res.send("never"));
    app.use(tell);
    const { url } = await listen(app);
    const reply = await post(url, "k");
    expect([reply.status, reply.text]).toEqual([500, expect.stringContaining("protected already")]);
    expect((await fetch(url, { method: "POST" })).status).toBe(200);
  });

  it("keeps what an outer idempotency set, where an inner one protects nothing", async () => {
    const once = testOnce();
    const app = framework();
    const puts = idempotency(once, { scope, methods: ["PUT"] });
    app.post("/", idempotency(once, { scope }), puts, (req, res) => res.json(req.idempotency.protected));
    const { url } = await listen(app);
    expect((await post(url, "k")).text).toBe("true");
    expect(await (await fetch(url, { method: "POST" })).json()).toBe(false);
  });
});

it("Express 5 hands a rejection on: the key is released", async () => {
  const app = express();
  let runs = 0;
  app.post("/", idempotency(testOnce(), { scope }), async (_req, res) => {
    if (++runs === 1) throw new Error("on purpose");
    res.send("ok");
  });
  app.use(tell);
  const { url } = await listen(app);
  expect([(await post(url, "k")).status, (await post(url, "k")).text]).toEqual([500, "ok"]);
});

it("Express 4 never learns of a rejection: nothing wedges the key for longer than maxRunMs", async () => {
  const app = express4();
  const attempts: number[] = [];
  app.post("/", idempotency(testOnce({ maxRunMs: 50, leaseMs: 50 }), { scope }), (req, res) => {
    attempts.push(req.idempotency.attempt);
    // An async handler that rejects, as Express 4 sees it: a response that nobody ends.
    if (attempts.length > 1) res.send("ok");
  });
  const { url } = await listen(app);
  const client = new AbortController();
  const lost = post(url, "k", { signal: client.signal });
  const retry = post(url, "k");
  expect((await retry).text).toBe("ok");
  expect(attempts).toEqual([1, 2]);
  client.abort();
  await expect(lost).rejects.toThrow();
});

it("checks options where they are given", () => {
  const once = testOnce();
  expect(() => idempotency(once, {})).toThrow(/scope is required/);
  expect(() => idempotency.defaults(once, { scope })({ required: "yes" } as never)).toThrow(/required/);
  expect(() => idempotency({} as never, { scope })).toThrow(/onceward\(\{ store \}\)/);
});

it("is typed: options get req, handlers get the context", () => {
  expectTypeOf<Parameters<Exclude<IdempotencyOptions["scope"], "shared" | undefined>>[0]>().toEqualTypeOf<Request>();
  expectTypeOf<Request["idempotency"]["protected"]>().toEqualTypeOf<boolean>();
  expectTypeOf<Request["idempotency"]["signal"]>().toEqualTypeOf<AbortSignal>();
});
