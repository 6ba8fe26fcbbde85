import { connect } from "node:http2";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { type Context, keepAll, onceward } from "@onceward/core";
import { memoryStore } from "@onceward/store-memory";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { afterEach, expect, expectTypeOf, it } from "vitest";
import { type IdempotencyOptions, idempotency } from "../src/index.ts";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function start(options: Partial<IdempotencyOptions> = {}) {
  const once = onceward({ store: memoryStore() });
  const fastify = Fastify();
  await fastify.register(idempotency, { once, scope: "shared", ...options });
  ends.push(async () => {
    await fastify.close();
    await once.close();
  });
  return fastify;
}

const headers = { "idempotency-key": "k" };

it("works with inject, and takes a route's options over the plugin's", async () => {
  const fastify = await start();
  fastify.post("/strict", { config: { idempotency: { required: true } } }, async () => ({ ok: true }));
  fastify.post("/off", { config: { idempotency: false } }, async (request) => ({ on: request.idempotency.protected }));
  expect((await fastify.inject({ method: "POST", url: "/strict" })).statusCode).toBe(400);
  expect((await fastify.inject({ method: "POST", url: "/strict", headers })).json()).toEqual({ ok: true });
  const replay = await fastify.inject({ method: "POST", url: "/strict", headers });
  expect([replay.json(), replay.headers["idempotent-replayed"]]).toEqual([{ ok: true }, "true"]);
  expect((await fastify.inject({ method: "POST", url: "/off", headers })).json()).toEqual({ on: false });
});

it.each<[string, (reply: FastifyReply) => unknown]>([
  ["a payload that is none", (reply) => reply.type("text/plain").send(5)],
  ["a header that is none", (reply) => reply.header("content-disposition", 'attachment; filename="отчёт"').send("x")],
  ["a status that is none", (reply) => Object.assign(reply.raw, { statusCode: 1000 }) && reply.send("x")],
])("gives %s to the error handler, as Fastify does, and keeps nothing", async (_what, answer) => {
  const fastify = await start();
  let runs = 0;
  fastify.post("/", (_request, reply) => {
    runs += 1;
    answer(reply);
  });
  for (const n of [1, 2]) {
    expect((await fastify.inject({ method: "POST", url: "/", headers })).statusCode).toBe(500);
    expect(runs).toBe(n);
  }
});

it("keeps status and headers of a web Response", async () => {
  const fastify = await start();
  fastify.post("/", async () => new Response("made", { status: 201, headers: { "x-made": "1" } }));
  for (const _try of ["first", "replay"]) {
    const { statusCode, headers: got, body } = await fastify.inject({ method: "POST", url: "/", headers });
    expect([statusCode, got["x-made"], body]).toEqual([201, "1", "made"]);
  }
});

it("compares bodies over HTTP/2 too, where no header announces them", async () => {
  const once = onceward({ store: memoryStore() });
  const fastify = Fastify({ http2: true });
  await fastify.register(idempotency, { once, scope: "shared" });
  fastify.post("/", async (request) => request.body);
  const client = connect(await fastify.listen({ port: 0, host: "127.0.0.1" }));
  ends.push(async () => {
    client.close();
    await fastify.close();
    await once.close();
  });
  const statusOf = (amount: number) =>
    new Promise((resolve, reject) => {
      const request = client.request({ ":method": "POST", "content-type": "application/json", ...headers });
      request.on("response", (head) => resolve(head[":status"])).on("error", reject);
      request.resume().end(JSON.stringify({ amount }));
    });
  expect([await statusOf(1), await statusOf(1), await statusOf(2)]).toEqual([200, 200, 422]);
});

it.each<[string, (reply: FastifyReply) => unknown]>([
  ["sends again", (reply) => reply.code(500).send("two")],
  ["throws after it has sent", () => Promise.reject(new Error("too late"))],
  ["returns nothing after it has sent", () => undefined],
])("an async handler that %s changes nothing: the first reply is sent, and kept", async (_what, goOn) => {
  const fastify = await start();
  fastify.post("/", async (_request, reply) => {
    reply.code(201).send("one");
    await goOn(reply);
  });
  for (const replayed of [undefined, "true"]) {
    const response = await fastify.inject({ method: "POST", url: "/", headers });
    expect([response.statusCode, response.body, response.headers["idempotent-replayed"]]).toEqual([
      201,
      "one",
      replayed,
    ]);
  }
});

it("compares bodies as they came, before validation coerces them", async () => {
  const fastify = await start();
  const schema = { body: { type: "object", properties: { amount: { type: "number" } } } };
  fastify.post("/coerced", { schema }, async (request) => request.body);
  const ask = (payload: object) => fastify.inject({ method: "POST", url: "/coerced", headers, payload });
  expect((await ask({ amount: "1" })).json()).toEqual({ amount: 1 });
  expect((await ask({ amount: 1 })).statusCode).toBe(422);
  expect((await ask({ amount: "1" })).headers["idempotent-replayed"]).toBe("true");
});

it("keeps nothing of a request that fails validation or authentication", async () => {
  const fastify = await start();
  const schema = { body: { type: "object", required: ["amount"] } };
  const preHandler = async (request: { headers: Record<string, unknown> }) => {
    if (!request.headers["authorization"]) throw Object.assign(new Error("who are you?"), { statusCode: 401 });
  };
  let runs = 0;
  fastify.post("/checked", { schema, preHandler }, async () => ({ runs: ++runs }));
  const ask = (payload: object, more = {}) =>
    fastify.inject({ method: "POST", url: "/checked", headers: { ...headers, ...more }, payload });
  expect((await ask({})).statusCode).toBe(400);
  expect((await ask({ amount: 1 })).statusCode).toBe(401);
  expect((await ask({ amount: 2 }, { authorization: "me" })).json()).toEqual({ runs: 1 });
  expect((await ask({ amount: 2 })).statusCode).toBe(401);
});

it("refuses reply.hijack() with the remedy", async () => {
  const fastify = await start();
  fastify.post("/hijacked", async (_request, reply) => {
    reply.hijack();
  });
  fastify.post("/free", { config: { idempotency: false } }, async (_request, reply) => {
    reply.hijack();
    reply.raw.end("hijacked");
  });
  expect((await fastify.inject({ method: "POST", url: "/free", headers })).body).toBe("hijacked");
  const response = await fastify.inject({ method: "POST", url: "/hijacked", headers });
  expect([response.statusCode, response.json<{ message: string }>().message]).toEqual([
    500,
    expect.stringContaining("hijack"),
  ]);
});

it("compares what a parser of one's own makes, also what JSON can't hold", async () => {
  const fastify = await start();
  fastify.removeContentTypeParser("application/json");
  fastify.addContentTypeParser("application/json", { parseAs: "string" }, (_request, body, done) =>
    done(null, { amount: BigInt(String(body)), bytes: Buffer.from(String(body)) }),
  );
  fastify.post("/", { schema: { body: { type: "object" } } }, async () => "done");
  const ask = async (payload: string) => {
    const request = { method: "POST", url: "/", headers: { ...headers, "content-type": "application/json" }, payload };
    return (await fastify.inject(request as never)).statusCode;
  };
  expect([await ask("1"), await ask("1"), await ask("2")]).toEqual([200, 200, 422]);
});

it("serialises by schema as ever, and replays the same bytes", async () => {
  const fastify = await start();
  const schema = { response: { 200: { type: "object", properties: { shown: { type: "string" } } } } };
  fastify.post("/serialised", { schema }, async () => ({ shown: "a", hidden: "b" }));
  const ask = () => fastify.inject({ method: "POST", url: "/serialised", headers });
  expect([(await ask()).body, (await ask()).body]).toEqual(['{"shown":"a"}', '{"shown":"a"}']);
});

it("checks the plugin's options when it is registered", async () => {
  await expect(start({ scope: undefined })).rejects.toThrow(/scope is required/);
});

it("keeps to its encapsulation: sisters are free, and may have their own", async () => {
  const once = onceward({ store: memoryStore() });
  const fastify = Fastify();
  ends.push(async () => {
    await fastify.close();
    await once.close();
  });
  const routes = async (instance: FastifyInstance) => {
    instance.post("/", async (request) => ({ protected: request.idempotency?.protected ?? "not known" }));
  };
  await fastify.register(
    async (instance) => {
      await instance.register(idempotency, { once, scope: "shared" });
      await instance.register(routes);
    },
    { prefix: "/with" },
  );
  await fastify.register(
    async (instance) => {
      await instance.register(idempotency, { once, scope: "shared", required: true });
      await instance.register(routes);
    },
    { prefix: "/strict" },
  );
  await fastify.register(routes, { prefix: "/without" });
  const ask = async (url: string, sent = {}) => fastify.inject({ method: "POST", url, headers: sent });
  expect((await ask("/with", headers)).json()).toEqual({ protected: true });
  expect((await ask("/with")).json()).toEqual({ protected: false });
  expect((await ask("/strict")).statusCode).toBe(400);
  expect((await ask("/without", headers)).json()).toEqual({ protected: "not known" });
});

it("takes a second registration over the same routes for a mistake of the application's", async () => {
  const fastify = await start();
  const once = onceward({ store: memoryStore() });
  await expect(fastify.register(idempotency, { once, scope: "shared" })).rejects.toThrow(/idempotency/);
  await once.close();
});

it("runs after every preHandler of the route and the instance, before the handler", async () => {
  const fastify = await start();
  const order: string[] = [];
  const step = (name: string) => async (request: FastifyRequest) => {
    order.push(`${name} ${request.idempotency.protected}`);
  };
  fastify.addHook("preHandler", step("instance"));
  fastify.post("/", { preHandler: [step("first"), step("second")] }, async (request) => {
    await step("handler")(request);
    return "done";
  });
  await fastify.inject({ method: "POST", url: "/", headers });
  await fastify.inject({ method: "POST", url: "/", headers });
  const checks = ["instance false", "first false", "second false"];
  expect(order).toEqual([...checks, "handler true", ...checks]);
});

it("captures inside compression and other onSend hooks, which run for replays too", async () => {
  const fastify = await start();
  let sent = 0;
  fastify.addHook("onSend", async (request, reply, payload) => {
    reply.header("x-sent", String(++sent));
    if (request.headers["accept-encoding"] !== "gzip") return payload;
    reply.header("content-encoding", "gzip").removeHeader("content-length");
    return gzipSync(payload as string | Buffer);
  });
  fastify.post("/", async () => ({ plain: true }));
  const ask = (encoding: string) =>
    fastify.inject({ method: "POST", url: "/", headers: { ...headers, "accept-encoding": encoding } });
  const [zipped, plain, again] = [await ask("gzip"), await ask("identity"), await ask("gzip")];
  expect([zipped, plain, again].map((reply) => reply.headers["content-encoding"])).toEqual(["gzip", undefined, "gzip"]);
  expect(plain.json()).toEqual({ plain: true });
  expect(again.rawPayload.equals(zipped.rawPayload)).toBe(true);
  expect([zipped, plain, again].map((reply) => reply.headers["x-sent"])).toEqual(["1", "2", "3"]);
});

it.each([
  ["a Node stream", () => Readable.from(["a", "b", "c"])],
  ["a web Response", () => new Response("abc", { status: 202, headers: { "x-own": "1" } })],
  ["a web stream", () => new Blob(["abc"]).stream()],
  ["bytes", () => Buffer.from("abc")],
])("replays %s", async (_kind, make) => {
  const fastify = await start();
  let runs = 0;
  fastify.post("/", async (_request, reply) => {
    runs += 1;
    return reply.type("text/plain").send(make());
  });
  const [first, replay] = [
    await fastify.inject({ method: "POST", url: "/", headers }),
    await fastify.inject({ method: "POST", url: "/", headers }),
  ];
  expect([first.body, replay.body, runs]).toEqual(["abc", "abc", 1]);
  expect([replay.statusCode, replay.headers["x-own"]]).toEqual([first.statusCode, first.headers["x-own"]]);
});

it("leaves errors to the error handler, keeps its answer where asked to, and releases the key otherwise", async () => {
  const fastify = await start();
  let runs = 0;
  fastify.setErrorHandler((error: Error, _request, reply) => reply.code(502).send({ handled: error.message }));
  const handler = async () => {
    runs += 1;
    throw new Error("on purpose");
  };
  fastify.post("/released", handler);
  fastify.post("/kept", { config: { idempotency: { keep: keepAll } } }, handler);
  const ask = (url: string) => fastify.inject({ method: "POST", url, headers });
  for (const url of ["/released", "/released", "/kept", "/kept"]) {
    const reply = await ask(url);
    expect([reply.statusCode, reply.json()]).toEqual([502, { handled: "on purpose" }]);
  }
  expect(runs).toBe(3);
});

it("calls what others have made of the response's destroy", async () => {
  const fastify = await start();
  let destroyed = 0;
  fastify.addHook("onRequest", async (_request, { raw }) => {
    const { destroy } = raw;
    raw.destroy = (error) => {
      destroyed += 1;
      return destroy.call(raw, error);
    };
  });
  fastify.post("/", async (_request, reply) => {
    reply.raw.destroy();
    return reply;
  });
  const url = await fastify.listen({ port: 0, host: "127.0.0.1" });
  await expect(fetch(url, { method: "POST", headers })).rejects.toThrow();
  expect(destroyed).toBeGreaterThan(0);
});

it("abandons a response that the handler destroys: the next attempt takes over at once, and is told so", async () => {
  const fastify = await start();
  fastify.post("/", async (request, reply) => {
    if (request.idempotency.attempt > 1) return { attempt: request.idempotency.attempt };
    reply.raw.destroy();
    return reply;
  });
  const url = await fastify.listen({ port: 0, host: "127.0.0.1" });
  await expect(fetch(url, { method: "POST", headers })).rejects.toThrow();
  expect(await (await fetch(url, { method: "POST", headers })).json()).toEqual({ attempt: 2 });
});

it("abandons what went around it through reply.raw", async () => {
  const fastify = await start({ leaseMs: 50 });
  const attempts: number[] = [];
  fastify.post("/", (request, reply) => {
    attempts.push(request.idempotency.attempt);
    if (attempts.length === 1) reply.raw.end("around");
    else reply.send("through");
  });
  expect((await fastify.inject({ method: "POST", url: "/", headers })).body).toBe("around");
  expect((await fastify.inject({ method: "POST", url: "/", headers })).body).toBe("through");
  expect(attempts).toEqual([1, 2]);
});

it("says what to do about a body that it can't see", async () => {
  const fastify = await start();
  fastify.addContentTypeParser("application/x-stream", (_request, payload, done) => done(null, payload));
  fastify.post("/", async () => "never");
  const sent = { ...headers, "content-type": "application/x-stream" };
  const response = await fastify.inject({ method: "POST", url: "/", headers: sent, payload: "bytes" });
  expect([response.statusCode, response.body]).toEqual([500, expect.stringContaining("content type parser")]);
});

it("validates deep bodies without giving up on them", async () => {
  const fastify = await start();
  fastify.post("/", { schema: { body: { type: "array" } } }, async () => "deep");
  const payload = "[".repeat(10_000) + "]".repeat(10_000);
  const sent = { ...headers, "content-type": "application/json" };
  const ask = () => fastify.inject({ method: "POST", url: "/", headers: sent, payload });
  expect([(await ask()).body, (await ask()).headers["idempotent-replayed"]]).toEqual(["deep", "true"]);
});

it("is typed: options get the request, routes their config, handlers the context", async () => {
  expectTypeOf<FastifyRequest["idempotency"]>().toEqualTypeOf<Context>();
  const fastify = await start({ scope: (request) => request.ip });
  fastify.post("/", { config: { idempotency: { scope: (request) => request.hostname } } }, async () => "typed");
  // @ts-expect-error: it is true or false.
  const wrong = () => fastify.post("/wrong", { config: { idempotency: { required: "yes" } } }, async () => "");
  expect(wrong).toThrow(/required/);
});
