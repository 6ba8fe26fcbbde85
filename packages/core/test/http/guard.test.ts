import { memoryStore } from "@onceward/store-memory";
import { describe, expect, it } from "vitest";
import {
  derivedKey,
  type HeaderList,
  type HttpOptions,
  httpGuard,
  keepAll,
  keepDeterministic,
  keepSuccess,
  type Onceward,
  onceward,
} from "../../src/index.ts";
import { type Asked, answer, finish, header, keyed, problem, setUp } from "./harness.ts";

describe("httpGuard", () => {
  it("leaves requests alone that nothing protects", () => {
    const { enter } = setUp();
    expect(enter({ method: "GET", headers: { "idempotency-key": "k" } })).toBeUndefined();
    expect(enter({})).toBeUndefined();
  });

  it("leaves requests alone that are to be skipped", () => {
    const { enter } = setUp({ skip: ({ path }) => path === "/health" });
    expect(enter(keyed({ path: "/health" }))).toBeUndefined();
  });

  it("lets a route add to the app's options and replace them", async () => {
    const app = { scope: "shared", required: true, replay: { status: 200, expiresHeader: false } } as const;
    const { once } = setUp();
    const { options } = httpGuard<Asked>(once, "idempotency", app, {
      required: undefined,
      methods: ["put"],
      ttlMs: 5,
      replay: { expiresHeader: "X-Until" },
    });
    expect([...options.methods, ...options.requiredFor]).toEqual(["PUT", "PUT"]);
    expect(options.replay).toMatchObject({
      status: 200,
      expiresHeader: "X-Until",
      replayedHeader: "Idempotent-Replayed",
    });
    expect(options.policy).toEqual({ ttlMs: 5 });
  });

  it("asks for a key where the method needs one", async () => {
    const { enter } = setUp({ methods: ["POST", "PUT"], required: ["post"] });
    expect(answer(await enter({})).status).toBe(400);
    expect(enter({ method: "PUT" })).toBeUndefined();
  });

  it("reads the key from any of several headers, and refuses two that differ, or one that is repeated", async () => {
    const { enter } = setUp({ header: ["Idempotency-Key", "X-Idempotency-Key"] });
    await finish(await enter({ headers: { "x-idempotency-key": "k" } }));
    expect(answer(await enter({ headers: { "idempotency-key": '"k"', "x-idempotency-key": "k" } })).status).toBe(201);
    expect(answer(await enter({ headers: { "idempotency-key": "k", "x-idempotency-key": "l" } })).status).toBe(400);
    expect(answer(await enter({ lines: { "idempotency-key": ["k", "k"] } })).status).toBe(400);
    expect(answer(await enter({ lines: { "idempotency-key": ['"k"', '"k"'] } })).status).toBe(400);
  });

  it("hands on errors that are not the client's to know", async () => {
    const { enter } = setUp({ scope: () => Promise.reject(new Error("no session store")) });
    await expect(enter(keyed())).rejects.toThrow("no session store");
  });

  it("replays status, headers and bytes, marked as a replay", async () => {
    const { enter } = setUp();
    const headers: HeaderList = [
      ["X-A", "1"],
      ["Link", "<a>"],
      ["Link", "<b>"],
      ["Set-Cookie", "secret=1"],
      ["X-Before", "now"],
      ["X-Changed", "by handler"],
    ];
    const before: HeaderList = [
      ["X-Before", "now"],
      ["X-Changed", "before"],
    ];
    await finish(await enter(keyed({ before })), 201, headers, "\0bytes");
    const replay = answer(await enter(keyed({ headers: { "idempotency-key": '"k"' } })));
    expect(replay.status).toBe(201);
    expect(new TextDecoder().decode(replay.body)).toBe("\0bytes");
    expect(header(replay, "link")).toEqual(["<a>", "<b>"]);
    expect(header(replay, "x-changed")).toEqual(["by handler"]);
    expect(header(replay, "x-before")).toEqual([]);
    expect(header(replay, "set-cookie")).toEqual([]);
    expect(header(replay, "idempotent-replayed")).toEqual(["true"]);
    expect(header(replay, "idempotency-key")).toEqual(['"k"']);
    expect(header(replay, "x-original-request-time")[0]).toMatch(/^\d{4}-.*Z$/);
    expect(header(replay, "x-idempotent-expires")[0]).toMatch(/^\d{4}-.*Z$/);
  });

  it("says which cookie was dropped, unless keepHeaders keeps it", async () => {
    const { once, enter } = setUp();
    const dropped: string[] = [];
    once.on("header-dropped", (event) => void dropped.push(event.header));
    await finish(await enter(keyed()), 200, [["Set-Cookie", "a=1"]]);
    expect(dropped).toEqual(["set-cookie"]);
    const lax = setUp({ keepHeaders: (name, byDefault) => byDefault || name === "set-cookie" });
    await finish(await lax.enter(keyed()), 200, [["Set-Cookie", "a=1"]]);
    expect(header(answer(await lax.enter(keyed())), "set-cookie")).toEqual(["a=1"]);
  });

  it("drops what belongs to the first exchange without a word", async () => {
    const { once, enter } = setUp();
    const dropped: string[] = [];
    once.on("header-dropped", (event) => void dropped.push(event.header));
    const exchange = [
      "Date",
      "Connection",
      "RateLimit",
      "RateLimit-Limit",
      "X-RateLimit-Limit",
      "Access-Control-Max-Age",
      "Server-Timing",
    ];
    await finish(
      await enter(keyed()),
      200,
      exchange.map((name) => [name, "1"]),
    );
    const { headers } = answer(await enter(keyed()));
    expect(headers.map(([name]) => name).filter((name) => exchange.includes(name))).toEqual([]);
    expect(dropped).toEqual([]);
  });

  it("tells operations apart by method, path and scope, and conflicts on query and body", async () => {
    const { enter } = setUp({ scope: (asked) => asked.user ?? "anonymous" });
    await finish(await enter(keyed()));
    for (const other of [{ method: "PATCH" }, { path: "/refunds" }, { user: "bob" }])
      await finish(await enter(keyed(other)));
    for (const other of [{ query: "a=1" }, { body: { a: 1 } }]) {
      const response = answer(await enter(keyed(other)));
      expect(response.status).toBe(422);
      expect(header(response, "content-type")).toEqual(["application/problem+json"]);
      expect(problem(response)).toMatchObject({ status: 422, code: "ERR_KEY_REUSED", retryable: false });
    }
  });

  it("releases what is not kept", async () => {
    const { enter } = setUp();
    await finish(await enter(keyed()), 500);
    await finish(await enter(keyed()), 404);
    await finish(await enter(keyed()), 302);
    expect(answer(await enter(keyed())).status).toBe(302);
  });

  it("has presets of what is kept", () => {
    expect([200, 302, 400, 409, 429, 500].map(keepSuccess)).toEqual([true, true, false, false, false, false]);
    expect([200, 302, 400, 409, 429, 500].map(keepDeterministic)).toEqual([true, true, true, true, false, false]);
    expect(keepAll(500)).toBe(true);
  });

  it("lets the next attempt run after a failure and after a destroyed response", async () => {
    const { enter } = setUp();
    const first = await enter(keyed());
    if (first?.kind === "run") await first.recording.fail();
    const second = await enter(keyed());
    if (second?.kind === "run") await second.recording.abandon();
    const third = await enter(keyed());
    expect(third?.kind === "run" && third.context.attempt).toBe(2);
    await finish(third);
  });

  describe("after a runner's death", () => {
    async function abandoned(options: HttpOptions<Asked>) {
      const { enter, once } = setUp(options);
      const first = await enter(keyed());
      if (first?.kind === "run") await first.recording.abandon();
      return { enter, once };
    }
    const found = { status: 201, headers: [["X-Found", "yes"]], body: new TextEncoder().encode("found") } as const;

    it("asks reconcile for the response, sends it and keeps it", async () => {
      const attempts: number[] = [];
      const { enter } = await abandoned({
        reconcile: async (_request, { attempt }) => {
          attempts.push(attempt);
          return found;
        },
      });
      expect(answer(await enter(keyed()))).toEqual(found);
      const replay = answer(await enter(keyed()));
      expect([header(replay, "x-found"), header(replay, "idempotent-replayed")]).toEqual([["yes"], ["true"]]);
      expect(attempts).toEqual([2]);
    });

    it("runs the handler when reconcile finds that nothing was done", async () => {
      const { enter } = await abandoned({ reconcile: () => undefined });
      await finish(await enter(keyed()));
    });

    it("knows no more than before when reconcile throws", async () => {
      const { enter } = await abandoned({ reconcile: () => Promise.reject(new Error("bank is closed")) });
      await expect(enter(keyed())).rejects.toThrow("bank is closed");
      await expect(enter(keyed())).rejects.toThrow("bank is closed");
    });

    it("rejects as outcome unknown where nobody may take over", async () => {
      const { enter } = await abandoned({ takeover: false });
      expect(problem(answer(await enter(keyed())))).toMatchObject({ status: 409, code: "ERR_OUTCOME_UNKNOWN" });
    });
  });

  it("keeps a marker for a response over the limit", async () => {
    const { enter } = setUp({ maxOutcomeBytes: 10 });
    await finish(await enter(keyed()), 200, [], "more than ten bytes");
    const response = answer(await enter(keyed()));
    expect(response.status).toBe(507);
    expect(header(response, "retry-after")).toEqual([]);
  });

  it("asks for a key where one is required, and for a good one always", async () => {
    const { enter } = setUp({ required: true });
    expect(problem(answer(await enter({})))).toMatchObject({ status: 400, code: "ERR_KEY_MISSING" });
    expect(problem(answer(await enter(keyed({ headers: { "idempotency-key": "a,b" } }))))).toMatchObject({
      status: 400,
      code: "ERR_KEY_INVALID",
    });
  });

  it("says when to try again", async () => {
    const { enter } = setUp({ waitMs: 0 });
    const running = await enter(keyed());
    const response = answer(await enter(keyed()));
    expect(response.status).toBe(409);
    expect(header(response, "retry-after")[0]).toMatch(/^[1-9]\d*$/);
    await finish(running);
  });

  it("changes statuses and bodies of errors", async () => {
    const { enter } = setUp({
      required: true,
      statuses: { ERR_KEY_MISSING: 428 },
      problem: (error) => ({ headers: [["X-Code", error.code]], body: { error: error.code } }),
    });
    const response = answer(await enter({}));
    expect(response.status).toBe(428);
    expect(problem(response)).toEqual({ error: "ERR_KEY_MISSING" });
    expect(header(response, "content-type")).toEqual(["application/json"]);
    expect(header(response, "x-code")).toEqual(["ERR_KEY_MISSING"]);
  });

  it("changes replays", async () => {
    const { enter } = setUp({
      replay: { status: 200, replayedHeader: "X-Idempotency-Cached", keyHeader: false, expiresHeader: false },
      transformReplay: (response, { key }) => ({ ...response, body: new TextEncoder().encode(`again ${key}`) }),
    });
    await finish(await enter(keyed()));
    const replay = answer(await enter(keyed()));
    expect([replay.status, new TextDecoder().decode(replay.body)]).toEqual([200, "again k"]);
    expect(header(replay, "x-idempotency-cached")).toEqual(["true"]);
    expect(header(replay, "idempotency-key")).toEqual([]);
  });

  it("lets a request choose its TTL within bounds, when that is on", async () => {
    const { once, enter } = setUp({ ttlHeader: { minMs: 10, maxMs: 5_000 } });
    for (const bad of ["9", "5001", "1e3", "-1", ""])
      expect(answer(await enter(keyed({ headers: { "x-idempotency-ttl": bad } }))).status).toBe(400);
    const startedAt = Date.now();
    await finish(await enter(keyed({ headers: { "x-idempotency-ttl": "5000" } })));
    const record = await once.find({ operation: "POST /orders", key: "k" });
    expect((record?.expiresAt ?? 0) - startedAt).toBeLessThan(3_600_000);
  });

  it("finds the record of a former scope", async () => {
    const { enter } = setUp({
      scope: ({ user }) => (user ? { current: user, former: ["visitor"] } : "visitor"),
    });
    await finish(await enter(keyed()));
    expect(answer(await enter(keyed({ user: "alice" }))).status).toBe(201);
  });

  it("treats a scope that is nothing as an error, not as a shared one", async () => {
    const { enter } = setUp({ scope: () => undefined as never });
    await expect(enter(keyed())).rejects.toMatchObject({ code: "ERR_INVALID_OPTION" });
  });

  it("derives a key from context and payload; a header wins", async () => {
    const { enter } = setUp({
      key: derivedKey<Asked>({ context: ({ user = "nobody" }) => user, fields: ["email"] }),
      fingerprint: false,
    });
    const type = { "content-type": "application/json" };
    await finish(await enter({ headers: type, body: { email: "a", at: 1 } }));
    expect(answer(await enter({ headers: type, body: { email: "a", at: 2 } })).status).toBe(201);
    await finish(await enter({ headers: type, body: { email: "b" } }));
    await finish(await enter({ headers: type, body: { email: "a" }, user: "bob" }));
    await finish(await enter(keyed({ body: { email: "a" } })));
  });

  it("refuses to protect a request twice", async () => {
    const { enter } = setUp();
    const request = keyed();
    const first = await enter(request);
    await expect(enter(request)).rejects.toMatchObject({ code: "ERR_INVALID_OPTION" });
    await finish(first);
  });

  it.each(["by its signal alone", "and when asked"])("stops waiting when the client has gone, told %s", async (how) => {
    const { once, enter } = setUp();
    const running = await enter(keyed());
    const { signal, abort } = client();
    // Joined, and so listening, when that event's turn is over.
    const joined = new Promise<void>((resolve) => once.on("waiting", () => setImmediate(resolve)));
    const waiting = enter(keyed({ signal, ...(how === "and when asked" && { hasGone: () => signal.aborted }) }));
    await joined;
    abort();
    expect((await waiting)?.kind).toBe("gone");
    await finish(running);
  });

  it("neither runs for a client that has gone, nor asks for the signal of one that stays", async () => {
    const { enter } = setUp();
    const { signal, abort } = client();
    const stays = { ...keyed(), hasGone: () => false };
    const asked = Object.defineProperty(stays, "signal", { get: () => expect.unreachable("nobody waits") });
    await finish(await enter(asked));
    expect((await enter({ ...keyed(), hasGone: () => false }))?.kind).toBe("answer");
    abort();
    expect((await enter(keyed({ signal, hasGone: () => signal.aborted })))?.kind).toBe("gone");
  });

  it.each<[HttpOptions<Asked>, RegExp]>([
    [{ scope: "public" as never }, /scope must be/],
    [{ header: "a b" }, /header must be/],
    [{ methods: [] }, /methods must be/],
    [{ keyFormat: "guid" as never }, /keyFormat must be/],
    [{ replay: { status: 99 } }, /status must be/],
    [{ statuses: { ERR_KEY_MISSING: 99 } }, /ERR_KEY_MISSING must be/],
    [{ statuses: { ERR_KEY_REUSE: 409 } as never }, /no option "ERR_KEY_REUSE"/],
    [{ required: ["PUT"] }, /required names PUT/],
    [{ required: [] }, /required must be/],
    [{ key: {} as never }, /made by derivedKey/],
    [{ key: null as never }, /made by derivedKey/],
    [{ ttlHeader: { minMs: 2, maxMs: 1 } }, /minMs/],
    [{ key: derivedKey() }, /context/],
    [{ unknown: 1 } as never, /no option "unknown"/],
  ])("checks options %#", (options, message) => expect(() => setUp(options)).toThrow(message));

  it("requires a scope, and an Onceward", () => {
    const once = onceward({ store: memoryStore() });
    expect(() => httpGuard(once, "idempotency", {})).toThrow(/scope is required/);
    expect(() => httpGuard(once, "idempotency", undefined)).toThrow(/scope is required/);
    expect(() => httpGuard({} as Onceward, "idempotency", { scope: "shared" })).toThrow(/onceward/);
  });
});

function client() {
  const gone = new AbortController();
  return { signal: gone.signal, abort: () => gone.abort() };
}
