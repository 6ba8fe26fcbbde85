import { postgresStore } from "@onceward/store-postgres";
import { freshDatabase, sharedPostgres } from "@onceward/test-servers";
import { Pool } from "pg";
import { afterAll } from "vitest";
import { testBinding } from "../../src/index.ts";
import { bindingNames, bindings } from "./bindings.ts";
import { startProcess } from "./start-process.ts";

const database = await freshDatabase(await sharedPostgres());
const pool = new Pool({ connectionString: database.url, max: 20 });
await postgresStore({ client: pool }).migrate();
afterAll(async () => {
  await pool.end();
  await database.drop();
});

for (const name of bindingNames)
  testBinding({
    name: `${name} on Postgres`,
    ...bindings[name],
    createStore: () => postgresStore({ client: pool }),
    startProcess: ({ leaseMs }) => startProcess(name, "postgres", database.url, leaseMs),
  });
