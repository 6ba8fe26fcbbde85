import { startPostgres } from "@onceward/test-servers";
import { testStore } from "@onceward/testkit";
import { afterAll } from "vitest";
import { postgresStore } from "../src/index.ts";
import { inspector, openPool } from "./support.ts";

/** Some make these the default of a server, a database or a role, and nobody asks the library. */
const levels = ["repeatable read", "serializable"];

const server = await startPostgres();
const pools = levels.map((level) =>
  openPool(server.url, { max: 20, options: `-c default_transaction_isolation=${level.replace(" ", "\\ ")}` }),
);
afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()));
  await server.stop();
});

for (const [index, level] of levels.entries()) {
  const client = pools[index]!;
  const schema = level.replace(" ", "_");
  await postgresStore({ client, schema }).migrate();
  testStore({
    name: `postgresStore where ${level} is the default`,
    create: () => postgresStore({ client, schema }),
    inspect: inspector(client, `${schema}.records`),
  });
}
