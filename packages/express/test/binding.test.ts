import { testBinding } from "@onceward/testkit";
import express, { type Request } from "express";
import express4 from "express-4";
import { serveExpress } from "./serve.ts";

const frameworks: [string, typeof express][] = [
  ["Express 5", express],
  ["Express 4", express4],
];

for (const [name, framework] of frameworks) {
  const { json, urlencoded } = framework;
  for (const parsers of [[], [json(), urlencoded({ extended: false })]])
    testBinding<Request>({
      name: `@onceward/express on ${name}, ${parsers.length ? "with" : "without"} body parsers`,
      serve: (setup) => serveExpress(framework, parsers, setup),
    });
}
