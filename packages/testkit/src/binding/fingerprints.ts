import { expect } from "vitest";
import { problemOf } from "./errors.ts";
import { type Group, keyed, text } from "./world.ts";

const form = "application/x-www-form-urlencoded";
const [one, two] = ['{"amount":1}', '{"amount":2}'];

/** H3: what must be the same in a duplicate. */
export const fingerprints: Group = (declare) => {
  declare("H3.1 another body or query under the same key is a reused key", async ({ start }) => {
    const { client, runs } = await start();
    const headers = keyed();
    await client.send({ headers, body: '{"amount":1}' });
    for (const other of [{ body: '{"amount":2}' }, { body: '{"amount":1}', path: "/orders?dry=1" }, { body: "[]" }]) {
      const reply = await client.send({ headers, ...other });
      expect(reply.status).toBe(422);
      expect(problemOf(reply)).toMatchObject({ code: "ERR_KEY_REUSED", retryable: false });
    }
    expect((await client.send({ headers, body: '{"amount":1}' })).replayed).toBe(true);
    expect(runs).toHaveLength(1);
  });

  declare("H3.2 JSON counts by its content, at every depth", async ({ start }) => {
    const { client } = await start();
    const headers = keyed();
    await client.send({ headers, body: '{"a":{"x":1,"y":[1,{"p":1,"q":2}]},"b":1.0}' });
    const same = await client.send({ headers, body: ' {"b":1,"a":{"y":[1,{"q":2,"p":1}], "x":1}} ' });
    expect(same.replayed).toBe(true);
    expect((await client.send({ headers, body: '{"a":{"x":1,"y":[{"p":1,"q":2},1]},"b":1}' })).status).toBe(422);
  });

  declare("H3.3 forms and queries count by name, repeated values in their order", async ({ start }) => {
    const { client } = await start();
    const headers = keyed(undefined, { "content-type": form });
    await client.send({ headers, path: "/orders?x=1&y=2", body: "a=1&b=2&b=3" });
    expect((await client.send({ headers, path: "/orders?y=2&x=1", body: "b=2&b=3&a=1" })).replayed).toBe(true);
    expect((await client.send({ headers, path: "/orders?x=1&y=2", body: "b=3&b=2&a=1" })).status).toBe(422);
    expect((await client.send({ headers, path: "/orders?x=2&y=2", body: "a=1&b=2&b=3" })).status).toBe(422);
  });

  declare("H3.4 anything else counts byte for byte", async ({ start }) => {
    const { client, runs } = await start();
    const headers = keyed(undefined, { "content-type": "application/octet-stream" });
    const sent = Uint8Array.from({ length: 256 }, (_, index) => index);
    const other = Uint8Array.from(sent).fill(254, 255);
    expect((await client.send({ headers, body: sent })).status).toBe(201);
    expect((await client.send({ headers, body: sent })).replayed).toBe(true);
    expect((await client.send({ headers, body: other })).status).toBe(422);
    const plain = keyed(undefined, { "content-type": "text/plain" });
    await client.send({ headers: plain, body: '{"a":1,"b":2}' });
    expect((await client.send({ headers: plain, body: '{"b":2,"a":1}' })).status).toBe(422);
    expect(runs).toHaveLength(2);
  });

  for (const [index, type] of ["application/json", "text/plain", "application/octet-stream"].entries()) {
    declare(`H3.5${String.fromCharCode(97 + index)} an empty body that calls itself ${type}`, async ({ start }) => {
      const { client, faults } = await start();
      const headers = keyed(undefined, { "content-type": type });
      const first = await client.send({ headers, body: "" });
      // Some frameworks refuse that: then nothing may be kept of it.
      if (first.status === 201) expect((await client.send({ headers, body: "" })).replayed).toBe(true);
      else expect([Math.floor(first.status / 100), faults.calls]).toEqual([4, []]);
    });
  }

  declare("H3.6 a handler that changes the body changes nothing", async ({ start }) => {
    const { client, runs } = await start({
      handle: async (_context, _run, body) => {
        Object.assign((await body()) as object, { amount: 99, added: true });
        return text("changed");
      },
    });
    const headers = keyed();
    expect((await client.send({ headers, body: '{"amount":1}' })).status).toBe(201);
    expect((await client.send({ headers, body: '{"amount":1}' })).replayed).toBe(true);
    expect((await client.send({ headers, body: '{"amount":99,"added":true}' })).status).toBe(422);
    expect(runs).toHaveLength(1);
  });

  declare("H3.7 `fingerprint` chooses what counts, or turns it off", async ({ start, header }) => {
    const { client } = await start({
      options: { fingerprint: (request) => header(request, "x-form") },
      routeOptions: { fingerprint: false },
    });
    const headers = keyed(undefined, { "x-form": "a" });
    await client.send({ headers, body: one });
    expect((await client.send({ headers, body: two })).replayed).toBe(true);
    expect((await client.send({ headers: { ...headers, "x-form": "b" }, body: one })).status).toBe(422);
    await client.send({ path: "/refunds", headers, body: one });
    expect((await client.send({ path: "/refunds", headers, body: two })).replayed).toBe(true);
  });

  declare("H3.8 another payload can be replayed anyway, or be an operation of its own", async ({ start }) => {
    const { client, runs } = await start({
      options: { onReuse: "replay" },
      routeOptions: { onReuse: "separate" },
      handle: (_context, run) => text(`run ${run}`),
    });
    const headers = keyed();
    await client.send({ headers, body: one });
    expect((await client.send({ headers, body: two })).text).toBe("run 1");
    const path = "/refunds";
    for (const body of [one, two, one, two]) await client.send({ path, headers, body });
    expect((await client.send({ path, headers, body: two })).text).toBe("run 3");
    expect(runs).toHaveLength(3);
  });
};
