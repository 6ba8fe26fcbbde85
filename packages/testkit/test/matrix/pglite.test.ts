import { PGlite } from "@electric-sql/pglite";
import { postgresStore } from "@onceward/store-postgres";
import { afterAll } from "vitest";
import { testBinding } from "../../src/index.ts";
import { bindings } from "./bindings.ts";

const client = await PGlite.create();
afterAll(() => client.close());
await postgresStore({ client }).migrate();

testBinding({
  name: "Fastify on PGlite",
  ...bindings.Fastify,
  createStore: () => postgresStore({ client, timeoutMs: 10_000 }),
});
