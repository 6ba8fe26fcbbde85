import { afterEach, describe } from "vitest";
import { bodies } from "./binding/bodies.ts";
import { clients } from "./binding/clients.ts";
import { decisions } from "./binding/decisions.ts";
import { headers } from "./binding/headers.ts";
import type { BindingSuite } from "./binding/suite.ts";
import { Worlds } from "./binding/world.ts";

/**
 * Declares Vitest tests that prove a binding against docs/http.md, over real sockets. Write `serve` once for a framework;
 * the same table then holds for every binding on every store.
 */
export function testBinding<Request>(suite: BindingSuite<Request>): void {
  const worlds = new Worlds(suite);
  describe(suite.name, { timeout: 6 * (suite.patienceMs ?? 10_000) }, () => {
    afterEach(() => worlds.end());
    describe("decides", () => decisions(worlds, suite));
    describe("keeps bodies", () => bodies(worlds));
    describe("keeps headers", () => headers(worlds));
    describe("outlives clients", () => clients(worlds, suite));
  });
}
