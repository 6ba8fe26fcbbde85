import { expect, it } from "vitest";
import { answer, header, keyed, problem, setUp, unreachableStore } from "./harness.ts";

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
