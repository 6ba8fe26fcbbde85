import { randomUUID } from "node:crypto";
import { derivedKey } from "@onceward/core";
import { expect } from "vitest";
import { type Group, keyed, text } from "./world.ts";

/** H4: whose key it is, and for which operation. */
export const scopes: Group = (declare) => {
  declare("H4.1 another method, path, mounted router or scope is another operation", async ({ start, header }) => {
    const { client, runs } = await start({ options: { scope: (request) => header(request, "x-user") ?? "nobody" } });
    const headers = keyed();
    const asks = [
      {},
      { method: "PATCH" },
      { path: "/refunds" },
      { path: "/mounted/orders" },
      { headers: { ...headers, "x-user": "alice" } },
      { headers: { ...headers, "x-user": "bob" } },
    ];
    for (const ask of asks) expect((await client.send({ headers, body: "{}", ...ask })).replayed).toBe(false);
    for (const ask of asks) expect((await client.send({ headers, body: "{}", ...ask })).replayed).toBe(true);
    expect(runs).toHaveLength(asks.length);
  });

  declare("H4.2 identical bodies under two keys both run", async ({ start }) => {
    const { client, runs } = await start();
    await client.send({ headers: keyed(), body: '{"amount":1}' });
    await client.send({ headers: keyed(), body: '{"amount":1}' });
    expect(runs).toHaveLength(2);
  });

  declare("H4.3 a scope that says nothing is an error, and runs nothing", async ({ start }) => {
    const { client, runs, faults } = await start({ options: { scope: () => undefined as unknown as string } });
    const reply = await client.send({ headers: keyed(), body: "{}" });
    expect(reply.status).toBe(500);
    expect([runs.length, faults.calls]).toEqual([0, []]);
    expect((await client.send({ body: "{}", headers: { "content-type": "application/json" } })).status).toBe(201);
  });

  declare("H4.4 a visitor who signs in between two tries gets the replay", async ({ start, header }) => {
    const { client, runs } = await start({
      options: {
        scope: (request) => {
          const user = header(request, "x-user");
          return user ? { current: user, former: ["visitor 7"] } : "visitor 7";
        },
      },
    });
    const headers = keyed();
    await client.send({ headers, body: "{}" });
    expect((await client.send({ headers: { ...headers, "x-user": "alice" }, body: "{}" })).replayed).toBe(true);
    const own = keyed(undefined, { "x-user": "alice" });
    expect((await client.send({ headers: own, body: "{}" })).replayed).toBe(false);
    expect((await client.send({ headers: own, body: "{}" })).replayed).toBe(true);
    expect(runs).toHaveLength(2);
  });

  declare("H4.5 a derived key makes equal submissions one; a header wins", async ({ start, header }) => {
    const { client, runs } = await start({
      options: { key: derivedKey({ context: (request) => header(request, "x-form") ?? "", fields: ["email"] }) },
      handle: (_context, run) => text(`run ${run}`),
    });
    const type = { "content-type": "application/json", "x-form": randomUUID() };
    const submit = (body: object, headers: Record<string, string> = type) =>
      client.send({ headers, body: JSON.stringify(body) });
    expect((await submit({ email: "a@b.example" })).text).toBe("run 1");
    expect((await submit({ email: "a@b.example" })).replayed).toBe(true);
    expect((await submit({ email: "c@d.example" })).text).toBe("run 2");
    expect((await submit({ email: "a@b.example" }, { ...type, "x-form": randomUUID() })).text).toBe("run 3");
    expect((await submit({ email: "a@b.example" }, { ...type, "idempotency-key": randomUUID() })).text).toBe("run 4");
    expect(runs.every((context) => context.protected)).toBe(true);
  });
};
