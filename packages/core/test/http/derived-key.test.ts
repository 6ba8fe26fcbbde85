import { describe, expect, it } from "vitest";
import { comparableBody } from "../../src/http/body.ts";
import { derivedKey } from "../../src/index.ts";
import { type Asked, answer, finish, serve, setUp } from "./harness.ts";

const form = { "content-type": "application/x-www-form-urlencoded" };

describe("derivedKey", () => {
  it("makes equal payloads one operation; a key in the header wins", async () => {
    const { send, runs } = serve({ key: derivedKey<Asked>({ context: ({ user = "nobody" }) => user }) });
    await send({ body: { email: "a", at: [1, 2] } });
    expect((await send({ body: { at: [1, 2], email: "a" } })).ran).toBe(false);
    expect((await send({ body: { email: "a", at: [2, 1] } })).ran).toBe(true);
    expect((await send({ body: { email: "a", at: [1, 2] }, user: "bob" })).ran).toBe(true);
    expect((await send({ body: { email: "a", at: [1, 2] }, headers: { "idempotency-key": "k" } })).ran).toBe(true);
    expect(runs()).toBe(4);
  });

  it("echoes no key that the client has never seen", async () => {
    const { enter } = setUp({ key: derivedKey<Asked>({ context: () => "form" }) });
    await finish(await enter({}));
    const names = answer(await enter({})).headers.map(([name]) => name);
    expect(names).toContain("Idempotent-Replayed");
    expect(names).not.toContain("Idempotency-Key");
  });

  it("counts the chosen fields only; one that is missing is not null", async () => {
    const key = derivedKey<Asked>({ context: () => "form", fields: ["email", "name"] });
    const { send, runs } = serve({ key, fingerprint: false });
    await send({ body: { email: "a", at: 1 } });
    expect((await send({ body: { email: "a", at: 2 } })).ran).toBe(false);
    expect((await send({ body: { email: "a", name: null } })).ran).toBe(true);
    expect((await send({ body: [] })).ran).toBe(true);
    expect(runs()).toBe(3);
  });

  it("tells apart all values of a form's repeated field", async () => {
    const body = (text: string) =>
      comparableBody({ kind: "bytes", bytes: new TextEncoder().encode(text) }, form["content-type"]);
    const { derive } = derivedKey({ fields: ["a"] });
    const key = (text: string) => derive((parts) => JSON.stringify(parts), undefined, body(text));
    expect(key("a=1&a=2&b=1")).toBe(key("b=2&a=1&a=2"));
    expect(key("a=1&a=2")).not.toBe(key("a=3&a=2"));
    expect(key("b=1")).toBe(key("c=1"));
    expect(key("")).toBe(derive((parts) => JSON.stringify(parts), undefined, { kind: "none", content: "" }));
  });

  it("refuses to make one key of everybody's equal payloads", async () => {
    expect(() => setUp({ key: derivedKey() })).toThrow(/context/);
    const { send } = serve({ key: derivedKey<Asked>({ context: ({ user }) => user as string }) });
    await expect(send({ body: {} })).rejects.toMatchObject({ code: "ERR_INVALID_OPTION" });
    await expect(send({ body: {}, user: "" })).rejects.toMatchObject({ code: "ERR_INVALID_OPTION" });
    expect((await send({ body: {}, user: "bob" })).ran).toBe(true);
  });

  it("takes a member of the body for the context, and asks for it", async () => {
    const { send } = serve({ key: derivedKey({ context: "session" }) });
    expect((await send({ body: { session: "s" } })).ran).toBe(true);
    expect((await send({ body: {} })).json).toMatchObject({ status: 400, code: "ERR_KEY_MISSING" });
  });

  it("is left out for a route that says so", async () => {
    const app = { key: derivedKey<Asked>({ context: () => "form" }) };
    const { send } = serve({ ...app, key: false });
    expect([(await send({})).ran, (await send({})).ran]).toEqual([true, true]);
  });

  it.each([
    [{ fields: [] }, /fields must be/],
    [{ context: 1 as never }, /context must be/],
    [{ field: ["a"] } as never, /no option "field"/],
  ])("checks its options %#", (options, message) => expect(() => derivedKey(options)).toThrow(message));
});
