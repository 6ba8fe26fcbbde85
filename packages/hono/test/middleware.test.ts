import { type Context as Idempotency, onceward, type PolicyOptions } from "@onceward/core";
import { memoryStore } from "@onceward/store-memory";
import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { compress } from "hono/compress";
import { cors } from "hono/cors";
import { stream, streamSSE, streamText } from "hono/streaming";
import { validator } from "hono/validator";
import { expect, expectTypeOf, it, onTestFinished, vi } from "vitest";
import { type IdempotencyOptions, type IdempotencyVariables, idempotency } from "../src/index.ts";

const scope = "shared";

function testOnce(options: PolicyOptions = {}) {
  const once = onceward({ store: memoryStore(), ...options });
  onTestFinished(() => once.close({ drainMs: 100 }));
  return once;
}

const json = { "content-type": "application/json" };
const keyed = (key: string, init: RequestInit = {}): RequestInit => ({
  method: "POST",
  ...init,
  headers: { "idempotency-key": key, ...(init.headers as Record<string, string> | undefined) },
});
const replayed = (response: Response) => response.headers.get("idempotent-replayed") === "true";

it.each<[string, (c: Context) => Response, string]>([
  ["stream", (c) => stream(c, async (out) => void (await (await out.write("a")).write("b"))), "ab"],
  [
    "streamText",
    (c) =>
      streamText(c, async (out) => {
        await out.writeln("a");
        await out.sleep(1);
        await out.write("b");
      }),
    "a\nb",
  ],
  [
    "streamSSE",
    (c) => streamSSE(c, async (out) => out.writeSSE({ data: "hello", event: "greeting", id: "1" })),
    "event: greeting\ndata: hello\nid: 1\n\n",
  ],
])("replays what went through %s", async (_helper, answer, expected) => {
  const app = new Hono();
  const handler = vi.fn(answer);
  app.post("/", idempotency(testOnce(), { scope }), (c) => handler(c));
  const first = await app.request("/", keyed("k"));
  expect(await first.text()).toBe(expected);
  const replay = await app.request("/", keyed("k"));
  expect([await replay.text(), replayed(replay)]).toEqual([expected, true]);
  expect(replay.headers.get("content-type")).toBe(first.headers.get("content-type"));
  expect(handler).toHaveBeenCalledTimes(1);
});

it("replays c.body(null, 204) and redirects", async () => {
  const app = new Hono();
  app.post("/none", idempotency(testOnce(), { scope }), (c) => c.body(null, 204));
  app.post("/there", idempotency(testOnce(), { scope }), (c) => c.redirect("/elsewhere", 303));
  for (const [path, status] of [
    ["/none", 204],
    ["/there", 303],
  ] as const) {
    const [first, replay] = [await app.request(path, keyed("k")), await app.request(path, keyed("k"))];
    expect([first.status, replay.status, replayed(replay), replay.body]).toEqual([status, status, true, null]);
    expect(replay.headers.get("location")).toBe(first.headers.get("location"));
  }
});

it("tells an edge runtime to wait until the outcome is kept, whatever becomes of client and response", async () => {
  const once = testOnce();
  const app = new Hono();
  app.post("/", idempotency(once, { scope }), (c) => streamText(c, async (out) => void (await out.write("kept"))));
  const background: Promise<unknown>[] = [];
  const context = {
    waitUntil: (promise: Promise<unknown>) => void background.push(promise),
    passThroughOnException() {},
    props: {},
  };
  const response = await app.fetch(new Request("http://localhost/", keyed("k")), {}, context);
  await response.body?.cancel();
  expect(background.length).toBeGreaterThan(0);
  for (let settled = 0; settled < background.length; settled++) await background[settled];
  const replay = await app.request("/", keyed("k"));
  expect([await replay.text(), replayed(replay)]).toEqual(["kept", true]);
});

it.each<[string, (c: Context) => Promise<unknown>]>([
  ["c.req.json", (c) => c.req.json()],
  ["c.req.text", async (c) => JSON.parse(await c.req.text())],
  ["c.req.raw.json", (c) => c.req.raw.json()],
  ["a clone of c.req.raw", (c) => c.req.raw.clone().json()],
  ["c.req.raw in a new Request", (c) => new Request(c.req.raw).json()],
])("leaves the body to %s", async (_way, read) => {
  const app = new Hono();
  app.post("/", idempotency(testOnce(), { scope }), async (c) => c.json(await read(c)));
  const response = await app.request("/", keyed("k", { body: '{"amount":1}', headers: json }));
  expect(await response.json()).toEqual({ amount: 1 });
});

it.each<[string, Parameters<Hono["use"]>[1]]>([
  ["a JSON validator", validator("json", (value) => value)],
  ["bodyLimit", bodyLimit({ maxSize: 1_000 })],
])("sees the body behind %s", async (_name, middleware) => {
  const app = new Hono();
  app.use(middleware);
  app.post("/", idempotency(testOnce(), { scope }), async (c) => c.json(await c.req.json()));
  const ask = (amount: number) => app.request("/", keyed("k", { body: JSON.stringify({ amount }), headers: json }));
  expect(await (await ask(1)).json()).toEqual({ amount: 1 });
  expect([replayed(await ask(1)), (await ask(2)).status]).toEqual([true, 422]);
});

it("sees a form behind a validator, by its fields", async () => {
  const app = new Hono();
  app.post(
    "/",
    validator("form", (value) => value),
    idempotency(testOnce(), { scope }),
    (c) => c.json(c.req.valid("form")),
  );
  const ask = (body: string) =>
    app.request("/", keyed("k", { body, headers: { "content-type": "application/x-www-form-urlencoded" } }));
  expect(await (await ask("a=1&b=2")).json()).toEqual({ a: "1", b: "2" });
  expect([replayed(await ask("b=2&a=1")), (await ask("a=1&b=3")).status]).toEqual([true, 422]);
});

it("takes what it can't see for a mistake of the application's: a multipart form that was parsed, a body read around Hono", async () => {
  const app = new Hono();
  const errors: Error[] = [];
  app.onError((error, c) => {
    errors.push(error);
    return c.text("failed", 500);
  });
  app.post(
    "/form",
    validator("form", (value) => value),
    idempotency(testOnce(), { scope }),
    (c) => c.text("never"),
  );
  app.post(
    "/around",
    async (c, next) => {
      await c.req.raw.text();
      await next();
    },
    idempotency(testOnce(), { scope }),
    (c) => c.text("never"),
  );
  const form = new FormData();
  form.set("file", new Blob(["x"]), "x.txt");
  expect((await app.request("/form", keyed("k", { body: form }))).status).toBe(500);
  expect((await app.request("/around", keyed("k", { body: "x" }))).status).toBe(500);
  for (const error of errors) expect(error).toMatchObject({ code: "ERR_INVALID_OPTION" });
});

it("captures inside compression, and leaves CORS headers to each exchange", async () => {
  const app = new Hono();
  app.use(cors({ origin: (origin) => origin }), compress({ threshold: 0 }));
  app.post("/", idempotency(testOnce(), { scope }), (c) => c.text("text ".repeat(1_000)));
  const ask = (origin: string, encoding: string) =>
    app.request("/", keyed("k", { headers: { origin, "accept-encoding": encoding } }));
  const first = await ask("https://a.example", "gzip");
  const replay = await ask("https://b.example", "identity");
  expect([first.headers.get("content-encoding"), replay.headers.get("content-encoding")]).toEqual(["gzip", null]);
  expect(replay.headers.get("access-control-allow-origin")).toBe("https://b.example");
  expect(await replay.text()).toBe("text ".repeat(1_000));
});

it("takes a second idempotency on one request for a mistake of the application's", async () => {
  const once = testOnce();
  const app = new Hono();
  app.use(idempotency(once, { scope }));
  app.post("/", idempotency(once, { scope }), (c) => c.text("never"));
  app.onError((error, c) => c.text(error.message, 500));
  const response = await app.request("/", keyed("k"));
  expect([response.status, await response.text()]).toEqual([500, expect.stringContaining("protected already")]);
  expect((await app.request("/", { method: "POST" })).status).toBe(200);
});

it("stops an endless stream whose client left when its lease is lost", async () => {
  const once = testOnce({ maxRunMs: 50, leaseMs: 50 });
  const app = new Hono();
  let stopped = false;
  app.post("/", idempotency(once, { scope }), (c) =>
    stream(c, async (out) => {
      out.onAbort(() => {
        stopped = true;
      });
      while (!stopped) {
        await out.write("again and again");
        await out.sleep(1);
      }
    }),
  );
  const response = await app.request("/", keyed("k"));
  await response.body?.cancel();
  await vi.waitFor(() => expect(stopped).toBe(true));
});

it("is typed: options get Hono's Context, handlers the variable", async () => {
  expectTypeOf<Parameters<Exclude<IdempotencyOptions["scope"], "shared" | undefined>>[0]>().toEqualTypeOf<Context>();
  const app = new Hono<{ Variables: IdempotencyVariables }>();
  const protect = idempotency.defaults(testOnce(), { scope: (c) => c.req.header("x-user") ?? "nobody" });
  app.post("/", protect({ required: true }), (c) => {
    expectTypeOf(c.get("idempotency")).toEqualTypeOf<Idempotency>();
    expectTypeOf(c.var.idempotency.protected).toEqualTypeOf<boolean>();
    return c.json(c.var.idempotency.protected);
  });
  expect((await app.request("/", { method: "POST" })).status).toBe(400);
  expect(await (await app.request("/", keyed("k"))).json()).toBe(true);
  expect(() => protect({ required: 1 } as never)).toThrow(/required/);
});

async function consumed(): Promise<Response> {
  const response = new Response("x");
  await response.text();
  return response;
}

it.each<[string, () => unknown]>([
  ["returns nothing", () => undefined],
  ["returns what is no response", () => 5],
  ["returns a response that was read", consumed],
])("a handler that %s has failed: nothing is kept, and the next attempt runs", async (_what, answer) => {
  const app = new Hono();
  const handler = vi.fn(answer);
  app.post("/", idempotency(testOnce({ waitMs: 0 }), { scope }), () => handler() as Response);
  app.onError((_error, c) => c.text("failed", 500));
  for (const n of [1, 2]) {
    expect((await app.request("/", keyed("k"))).status).toBe(500);
    expect(handler).toHaveBeenCalledTimes(n);
  }
});
