import { onceward } from "@onceward/core";
import { memoryStore } from "@onceward/store-memory";
import Fastify from "fastify";
import { afterEach, expect, it } from "vitest";
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
  const response = await fastify.inject({ method: "POST", url: "/hijacked", headers });
  expect([response.statusCode, response.json<{ message: string }>().message]).toEqual([
    500,
    expect.stringContaining("hijack"),
  ]);
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
