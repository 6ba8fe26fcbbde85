import { runInNewContext } from "node:vm";
import { memoryStore } from "@onceward/store-memory";
import { describe, expect, it } from "vitest";
import { StoreRejectedError } from "../../src/index.ts";
import { faultyStore, refused } from "../engine/faulty-store.ts";
import { onTheEdge } from "../runtimes.ts";
import { type Asked, keyed, serve, setUp } from "./harness.ts";

const failed = { code: "ERR_INVALID_OPTION" };
/** Such as another realm, or a query builder, returns: a promise that is no instance of ours. */
const later = <Value>(value: Value): Promise<Value> =>
  runInNewContext("Promise.resolve(value)", { value }) as Promise<Value>;

describe("scopes", () => {
  it("finds the record of a former scope, and runs in the current one otherwise", async () => {
    const { once, send } = serve({
      scope: async ({ user }) => (user ? { current: user, former: ["visitor-1", "visitor-2"] } : "visitor-2"),
    });
    await send(keyed());
    expect((await send(keyed({ user: "alice" }))).ran).toBe(false);
    await send(keyed({ user: "alice", headers: { "idempotency-key": "new" } }));
    expect(await once.find({ operation: "POST /orders", scope: "alice", key: "new" })).not.toBeNull();
  });

  it("does not mistake a scope of that name for the shared one", async () => {
    const store = memoryStore();
    await serve({ scope: "shared" }, undefined, store).send(keyed());
    expect((await serve({ scope: () => "shared" }, undefined, store).send(keyed())).ran).toBe(true);
  });

  it("takes promises of any make", async () => {
    const { send, runs } = serve({ scope: ({ user = "a" }) => later(user), fingerprint: () => later("same") });
    await send(keyed());
    await send(keyed({ body: { other: 1 } }));
    await send(keyed({ user: "b" }));
    expect(runs()).toBe(2);
  });

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["an empty string", ""],
    ["a number", 7],
    ["an object without a current scope", { former: [] }],
    ["an object without former scopes", { current: "a" }],
    ["a former scope that is nothing", { current: "a", former: [undefined] }],
  ])("is an error, not the shared one: %s", async (_what, scope) => {
    const { send, runs } = serve({ scope: () => scope as string });
    await expect(send(keyed())).rejects.toMatchObject(failed);
    expect(runs()).toBe(0);
  });

  it("fails closed when a former scope can't be looked up, open where that is on", async () => {
    const scope = () => ({ current: "a", former: ["b"] });
    const closed = faultyStore(memoryStore());
    closed.next("find", refused(new Error("ECONNRESET")));
    expect((await serve({ scope }, undefined, closed).send(keyed())).status).toBe(503);
    const open = faultyStore(memoryStore());
    open.next("find", refused());
    expect((await serve({ scope, failOpen: true }, undefined, open).send(keyed())).ran).toBe(true);
    open.next("find", refused(new StoreRejectedError("no such table")));
    await expect(serve({ scope, failOpen: true }, undefined, open).send(keyed())).rejects.toMatchObject({
      code: "ERR_STORE_REJECTED",
    });
  });
});

describe("fingerprints", () => {
  it("compares the parts that a function chooses", async () => {
    const { send } = serve({ fingerprint: ({ body }) => (body as { amount: number }).amount });
    await send(keyed({ body: { amount: 1, at: 1 } }));
    expect((await send(keyed({ body: { amount: 1, at: 2 } }))).ran).toBe(false);
    expect((await send(keyed({ body: { amount: 2 } }))).status).toBe(422);
  });

  it("survives what a function chooses of a hostile body", async () => {
    const { send } = serve({ fingerprint: ({ body }) => body });
    const body = JSON.parse("[".repeat(10_000) + "]".repeat(10_000)) as unknown;
    expect((await send(keyed({ body }))).ran).toBe(true);
    expect((await send(keyed({ body }))).ran).toBe(false);
  });

  it("a function that forgets to return is an error, not equality", async () => {
    const { send } = serve({ fingerprint: () => undefined });
    await expect(send(keyed())).rejects.toMatchObject(failed);
  });

  it("compares nothing when turned off, and does not even read the body", async () => {
    const { guard, once } = setUp({ fingerprint: false });
    let reads = 0;
    const view = (identity: object) => ({
      request: {},
      identity,
      method: "POST",
      path: () => "/orders",
      query: () => "",
      header: () => ["k"],
      body: () => {
        reads += 1;
        return { kind: "none" } as const;
      },
      responseHeaders: () => [],
    });
    const decision = await guard.enter(view({}));
    if (decision?.kind === "run") await decision.recording.finish(201, []);
    expect((await guard.enter(view({})))?.kind).toBe("answer");
    expect(reads).toBe(0);
    expect(await once.find({ operation: "POST /orders", key: "k" })).toMatchObject({ fingerprint: "any" });
  });

  it("is on again for a route that says so", async () => {
    const { send } = serve({ fingerprint: true });
    await send(keyed());
    expect((await send(keyed({ query: "a=1" }))).status).toBe(422);
  });

  it("treats another payload as told: replayed all the same, or another operation", async () => {
    const replays = serve({ onReuse: "replay" });
    await replays.send(keyed());
    expect((await replays.send(keyed({ body: { a: 1 } }))).ran).toBe(false);
    const separates = serve({ onReuse: "separate" });
    await separates.send(keyed());
    expect((await separates.send(keyed({ body: { a: 1 } }))).ran).toBe(true);
  });
});

it("names operations alike on runtimes whose hashes take time", async () => {
  const { httpGuard, onceward } = await onTheEdge(() => import("../../src/index.ts"));
  const store = memoryStore();
  const ask = async (once: ReturnType<typeof onceward>, make: typeof httpGuard) =>
    make<Asked>(once, "idempotency", { scope: "shared" }).enter({
      request: {},
      identity: {},
      method: "POST",
      path: () => "/orders",
      query: () => "b=1&a=2",
      header: (name) => (name === "idempotency-key" ? ["k"] : []),
      body: async () => ({ kind: "parsed", value: "é" }),
      responseHeaders: () => [],
    });
  const once = onceward({ store });
  const first = await ask(once, httpGuard);
  if (first?.kind === "run") await first.recording.finish(201, []);
  const node = await import("../../src/index.ts");
  const replay = await ask(node.onceward({ store }) as never, node.httpGuard as never);
  expect(replay).toMatchObject({ kind: "answer", replayed: true });
  await once.close();
});
