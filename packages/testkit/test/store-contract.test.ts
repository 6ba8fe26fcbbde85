import { readFileSync } from "node:fs";
import { memoryStore } from "@onceward/store-memory";
import { expect, it } from "vitest";
import { storeCases } from "../src/index.ts";

it("docs/store-contract.md has exactly the numbers that the cases have", () => {
  const contract = readFileSync(new URL("../../../docs/store-contract.md", import.meta.url), "utf8");
  const hooks = { inspect: () => null, outage: { begin: () => {}, end: () => {} }, roundTrips: () => 0 };
  const cases = storeCases({ name: "all", create: () => memoryStore(), ...hooks });
  const proved = cases.map(({ name }) => name.split(" ")[0]).filter((number) => number?.includes("."));
  expect([...contract.matchAll(/^- \*\*(S\d+\.\d+)\*\*/gm)].map(([, number]) => number).sort()).toEqual(proved.sort());
});
