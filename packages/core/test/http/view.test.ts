import { once } from "node:events";
import { createServer, get, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { closeSignal, splitTarget } from "../../src/index.ts";

it.each([
  ["/orders", ["/orders", ""]],
  ["/orders?a=1&b=/?", ["/orders", "a=1&b=/?"]],
  ["/orders?a#b?c", ["/orders", "a"]],
  ["http://shop.example:80/orders?a", ["/orders", "a"]],
  ["HTTPS://shop.example?a", ["", "a"]],
  ["//shop.example/orders", ["//shop.example/orders", ""]],
  ["*", ["*", ""]],
])("splitTarget(%j)", (target, parts) => expect(splitTarget(target)).toEqual(parts));

async function exchange() {
  const server = createServer();
  onTestFinished(() => void server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const request = get({ port: (server.address() as AddressInfo).port, agent: false });
  request.on("error", () => {});
  const [, response] = (await once(server, "request")) as [unknown, ServerResponse];
  return { request, response };
}

it("closeSignal aborts when the client has gone", async () => {
  const { request, response } = await exchange();
  const signal = closeSignal(response);
  expect(signal.aborted).toBe(false);
  request.destroy();
  await once(response, "close");
  expect(signal.aborted).toBe(true);
  expect(closeSignal(response).aborted).toBe(true);
});

it("closeSignal stays quiet when the response was sent", async () => {
  const { request, response } = await exchange();
  const signal = closeSignal(response);
  request.on("response", (incoming) => incoming.resume());
  response.end("done");
  await once(response, "close");
  expect(signal.aborted).toBe(false);
});
