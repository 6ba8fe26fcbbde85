import { countingProxy, startPostgres } from "@onceward/test-servers";
import { testStore } from "@onceward/testkit";
import { afterAll } from "vitest";
import { postgresStore } from "../src/index.ts";
import { inspector, openPool } from "./support.ts";

const server = await startPostgres();
const proxy = await countingProxy(server.port);
const admin = openPool(server.url);
const pool = openPool(proxy.through(server.url), { max: 20 });
await postgresStore({ client: pool }).migrate();

afterAll(async () => {
  await Promise.all([pool.end(), admin.end()]);
  await proxy.close();
  await server.stop();
});

testStore({
  name: "postgresStore on a pool",
  create: () => postgresStore({ client: pool }),
  inspect: inspector(admin, "onceward.records"),
  roundTrips: () => proxy.counts.roundTrips,
  outage: { begin: () => server.pause(), end: () => server.resume() },
});
