import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { type Group, keyed, text } from "./world.ts";

/** H1: which requests are protected, what that costs, and what handlers get to know. */
export const protection: Group = (declare) => {
  declare("H1.1 a new request runs with its context, and is replayed", async ({ start }) => {
    const { client, runs } = await start({ handle: (_context, run) => text(`run ${run}`) });
    const key = randomUUID();
    const first = await client.send({ headers: keyed(key), body: '{"a":1}' });
    expect([first.status, first.text, first.replayed]).toEqual([201, "run 1", false]);
    expect(runs[0]).toMatchObject({ protected: true, key, attempt: 1 });
    expect(runs[0]?.fence).toBeGreaterThan(0);
    const replay = await client.send({ headers: keyed(key), body: '{"a":1}' });
    expect([replay.status, replay.text, replay.replayed]).toEqual([201, "run 1", true]);
    expect(runs).toHaveLength(1);
  });

  declare("H1.2 requests without a key, and of other methods, never touch the store", async ({ start }) => {
    const { client, runs, faults } = await start();
    expect((await client.send({ body: "{}", headers: { "content-type": "application/json" } })).status).toBe(201);
    for (const method of ["GET", "OPTIONS", "HEAD", "DELETE"])
      expect((await client.send({ method, headers: { "idempotency-key": "k" } })).status).toBe(201);
    expect(faults.calls).toEqual([]);
    expect(runs.map((context) => context.protected)).toEqual([false, false, false, false, false]);
    expect(await runs[0]?.step("a step", () => "just runs")).toBe("just runs");
  });

  declare("H1.3 a new request costs the store two calls, a replay one", async ({ start }) => {
    const { client, faults } = await start();
    const headers = keyed();
    await client.send({ headers, body: "{}" });
    expect(faults.calls).toEqual(["claim", "complete"]);
    await client.send({ headers, body: "{}" });
    expect(faults.calls).toEqual(["claim", "complete", "claim"]);
  });

  declare("H1.4 `methods` says which methods are protected", async ({ start }) => {
    const { client, runs } = await start({ options: { methods: ["PUT", "DELETE"] } });
    const headers = keyed();
    for (const method of ["PUT", "PUT", "DELETE", "DELETE", "POST", "POST"])
      expect((await client.send({ method, headers, body: "{}" })).status).toBe(201);
    expect(runs.map((context) => context.protected)).toEqual([true, true, false, false]);
  });

  declare("H1.5 what a route sets goes over what the app set; the rest stays", async ({ start }) => {
    const { client } = await start({
      options: { required: true, replay: { replayedHeader: "X-App", status: 200 } },
      routeOptions: { required: false, replay: { replayedHeader: "X-Route" } },
    });
    expect((await client.send({ body: "{}" })).status).toBe(400);
    expect((await client.send({ path: "/refunds" })).status).toBe(201);
    const headers = keyed();
    for (const [path, mark] of [
      ["/orders", "x-app"],
      ["/refunds", "x-route"],
    ] as const) {
      expect((await client.send({ path, headers, body: "{}" })).status).toBe(201);
      const replay = await client.send({ path, headers, body: "{}" });
      expect([replay.status, replay.headers[mark]]).toEqual([200, "true"]);
    }
  });

  declare("H1.6 handlers have steps and keys for the next service", async ({ start }) => {
    let effects = 0;
    const { client } = await start({
      handle: async (context, run) => {
        const charge = await context.step("charge", () => ++effects);
        const next = await context.downstreamKey("payments");
        return text(`${charge} ${next}`, run === 1 ? 503 : 201);
      },
    });
    const headers = keyed();
    const [first, second] = [await client.send({ headers, body: "{}" }), await client.send({ headers, body: "{}" })];
    expect([first.status, second.status]).toEqual([503, 201]);
    expect(second.text).toBe(first.text);
    expect(effects).toBe(1);
  });

  declare("H1.7 the handler reads the body as ever", async ({ start }) => {
    const bodies: unknown[] = [];
    const { client } = await start({
      handle: async (_context, _run, body) => {
        bodies.push(await body());
        return text("read");
      },
    });
    const sent = { amount: 1, note: "été", nested: [{ b: null }] };
    const body = JSON.stringify(sent);
    expect((await client.send({ headers: keyed(), body })).status).toBe(201);
    expect((await client.send({ headers: { "content-type": "application/json" }, body })).status).toBe(201);
    expect(bodies).toEqual([sent, sent]);
  });
};
