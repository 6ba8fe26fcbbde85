import { expect } from "vitest";
import type { Reply } from "./client.ts";
import { door, type Group, keyed, text } from "./world.ts";

/** The members of a problem+json body; fails unless it is one. */
export function problemOf(reply: Reply): Record<string, unknown> {
  expect(reply.headers["content-type"]).toBe("application/problem+json");
  const problem = JSON.parse(reply.text) as Record<string, unknown>;
  expect(problem["status"]).toBe(reply.status);
  return problem;
}

/** H9: errors are told as problem+json. */
export const errors: Group = (declare) => {
  declare("H9.1 an error has a type, a title, a detail, and a link to its documentation", async ({ start }) => {
    const { client } = await start({ options: { required: true } });
    const reply = await client.send({ body: "{}", headers: { "content-type": "application/json" } });
    const problem = problemOf(reply);
    expect(problem).toMatchObject({ status: 400, code: "ERR_KEY_MISSING", retryable: false });
    for (const member of ["title", "detail"]) expect(problem[member]).toMatch(/\w/);
    expect(problem["type"]).toMatch(/^https:\/\//);
    expect(reply.headers["link"]).toContain('rel="describedby"');
    expect(reply.headers["retry-after"]).toBeUndefined();
    expect(reply.replayed).toBe(false);
  });

  declare("H9.2 other statuses and another body, where asked for", async ({ start }) => {
    const { client } = await start({
      options: {
        required: true,
        statuses: { ERR_KEY_MISSING: 428, ERR_KEY_REUSED: 409 },
        problem: (error) => ({ headers: [["X-Code", error.code]], body: { message: "no" } }),
      },
    });
    const reply = await client.send({ body: "{}", headers: { "content-type": "application/json" } });
    expect([reply.status, reply.headers["x-code"], reply.text]).toEqual([428, "ERR_KEY_MISSING", '{"message":"no"}']);
    const headers = keyed();
    await client.send({ headers, body: "{}" });
    expect((await client.send({ headers, body: "[]" })).status).toBe(409);
  });

  declare("H9.3 a rejected request never touches the record of another", async ({ start, until }) => {
    const { open, opened } = door();
    const { client, runs, faults } = await start({
      options: { waitMs: 0, required: true },
      handle: async () => {
        await opened;
        return text("the first");
      },
    });
    const headers = keyed();
    const first = client.send({ headers, body: "{}" });
    await until("the handler runs", () => runs.length === 1);
    const rejected = [
      await client.send({ headers, body: "{}" }),
      await client.send({ headers, body: "[]" }),
      await client.send({ headers: keyed(`${headers["idempotency-key"]},`), body: "{}" }),
    ];
    expect(rejected.map(({ status }) => status)).toEqual([409, 422, 400]);
    open();
    expect((await first).text).toBe("the first");
    expect((await client.send({ headers, body: "[]" })).status).toBe(422);
    const replay = await client.send({ headers, body: "{}" });
    expect([replay.text, replay.replayed, runs.length]).toEqual(["the first", true, 1]);
    expect(faults.calls.filter((call) => call !== "claim")).toEqual(["complete"]);
  });
};
