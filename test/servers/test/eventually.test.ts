import { createServer } from "node:net";
import { expect, it } from "vitest";
import { eventually, freePort } from "../src/index.ts";

it("returns the first result, and takes errors for `not yet`", async () => {
  let calls = 0;
  const check = () => {
    calls += 1;
    if (calls === 1) throw new Error("not ready");
    return calls === 2 ? undefined : calls;
  };
  expect(await eventually(check, { what: "three calls", intervalMs: 1 })).toBe(3);
});

it("gives up with what it waited for and the last error", async () => {
  const check = () => Promise.reject(new Error("still down"));
  const failure = eventually(check, { what: "the server is up", timeoutMs: 5, intervalMs: 1 });
  await expect(failure).rejects.toThrow("not within 5 ms: the server is up: still down");
});

it("freePort finds ports that can be listened on, neighbours included", async () => {
  const port = await freePort(10_000);
  for (const each of [port, port + 10_000]) {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(each, "127.0.0.1", resolve));
    await new Promise((resolve) => server.close(resolve));
  }
});
