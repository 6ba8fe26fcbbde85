import { expect, it } from "vitest";
import type { ChangeProblem } from "../../src/index.ts";
import { answer, finish, header, keyed, problem, setUp, unreachableStore } from "./harness.ts";

it("tells a client that the store is down, but not where it is", async () => {
  const { once, enter } = setUp({}, unreachableStore());
  const said: string[] = [];
  once.on("store-error", ({ error }) => said.push((error as Error).message));
  const response = answer(await enter(keyed()));
  expect(response.status).toBe(503);
  expect(header(response, "retry-after")).toEqual(["1"]);
  expect(problem(response)).toMatchObject({ code: "ERR_STORE_UNAVAILABLE", retryable: true });
  expect(said).toHaveLength(1);
  expect(problem(response)["detail"]).not.toContain(said[0]);
  expect(problem(response)["detail"]).toMatch(/not run; send it again/);
});

it.each<[string, ReturnType<ChangeProblem>, number, string, string]>([
  ["nothing", {}, 400, "application/problem+json", '{"type"'],
  ["the status", { status: 428 }, 428, "application/problem+json", '{"type"'],
  ["the body as JSON", { body: { a: 1 } }, 400, "application/json", '{"a":1}'],
  ["the body as text", { body: "no", headers: [["content-type", "text/plain"]] }, 400, "text/plain", "no"],
  ["the body as bytes", { body: Uint8Array.of(0x6e, 0x6f) }, 400, "application/problem+json", "no"],
])("lets an application change %s", async (_what, change, status, type, body) => {
  const { enter } = setUp({ problem: () => change });
  const response = answer(await enter(keyed({ headers: { "idempotency-key": "a,b" } })));
  expect([response.status, header(response, "content-type")]).toEqual([status, [type]]);
  expect(new TextDecoder().decode(response.body).startsWith(body)).toBe(true);
});

it("tells the application which key the client sent, if it was a good one", async () => {
  const keys: (string | undefined)[] = [];
  const { enter } = setUp({
    problem: (_error, _proposed, { key }) => {
      keys.push(key);
      return {};
    },
  });
  await finish(await enter(keyed({ headers: { "idempotency-key": '"a b"' } })));
  await enter(keyed({ headers: { "idempotency-key": '"a b"' }, body: { other: 1 } }));
  await enter(keyed({ headers: { "idempotency-key": "a b" } }));
  expect(keys).toEqual(["a b", undefined]);
});

it("links to the application's own policy where there is one", async () => {
  const documentation = "https://shop.example/docs/retries";
  const { enter } = setUp({ required: true, documentation });
  const response = answer(await enter({}));
  expect(header(response, "link")).toEqual([`<${documentation}>; rel="describedby"`]);
  expect(problem(response)).toMatchObject({ documentation, type: expect.stringMatching(/#err_key_missing$/) });
  for (const bad of ["", "a b", "<>", 1 as never])
    expect(() => setUp({ documentation: bad })).toThrow(/documentation must be a URL/);
});
