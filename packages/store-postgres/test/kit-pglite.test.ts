import { PGlite } from "@electric-sql/pglite";
import { testStore } from "@onceward/testkit";
import { afterAll, expect, it } from "vitest";
import { postgresStore } from "../src/index.ts";
import { inspector } from "./support.ts";

const client = await PGlite.create();
afterAll(() => client.close());
await postgresStore({ client }).migrate();

testStore({
  name: "postgresStore on PGlite",
  // A thousand claims at once take their turns in one thread.
  create: () => postgresStore({ client, timeoutMs: 10_000 }),
  inspect: inspector(client, "onceward.records"),
  sharesDate: true,
});

it("leaves the caller's PGlite open", async () => {
  const store = postgresStore({ client });
  await store.ping();
  await store.close();
  expect((await client.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
});
