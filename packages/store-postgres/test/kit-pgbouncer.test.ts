import { startPgBouncer, startPostgres } from "@onceward/test-servers";
import { testStore } from "@onceward/testkit";
import { Client } from "pg";
import { afterAll } from "vitest";
import { postgresStore } from "../src/index.ts";
import { inspector, openPool } from "./support.ts";

const server = await startPostgres();
// Far fewer connections to the server than to the pooler: every statement may meet another backend.
const bouncer = await startPgBouncer(server, { poolMode: "transaction", poolSize: 4 });
const admin = openPool(server.url);
const pool = openPool(bouncer.url, { max: 20 });
await postgresStore({ client: pool }).migrate();

afterAll(async () => {
  await Promise.all([pool.end(), admin.end()]);
  await bouncer.stop();
  await server.stop();
});

/** Past the pooler. */
const listen = async () => {
  const client = new Client(server.url);
  await client.connect();
  return client;
};

testStore({
  name: "postgresStore through PgBouncer in transaction mode",
  create: () => postgresStore({ client: pool, listen }),
  inspect: inspector(admin, "onceward.records"),
});
