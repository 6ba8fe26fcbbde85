/** A server as a process of its own, for the kit: `process.ts <binding> <store> <url> <leaseMs>`. */
import { type Context, onceward, type Store } from "@onceward/core";
import { postgresStore } from "@onceward/store-postgres";
import { redisStore } from "@onceward/store-redis";
import { Redis } from "ioredis";
import { Pool } from "pg";
import { type BindingName, bindings } from "./bindings.ts";

const [binding, storeName, url = "", leaseMs] = process.argv.slice(2);
const stores: Record<string, () => Store> = {
  redis: () => redisStore({ client: new Redis(url) }),
  postgres: () => postgresStore({ client: new Pool({ connectionString: url }) }),
};
const store = stores[storeName as string]?.();
if (!store) throw new Error(`There is no store ${storeName}`);

async function* work(context: Context, body: unknown): AsyncGenerator<Uint8Array> {
  yield Buffer.from(String(process.pid));
  const { workMs = 0 } = (body ?? {}) as { workMs?: number };
  if (context.attempt === 1) await new Promise((resolve) => setTimeout(resolve, workMs));
}

const { port } = await bindings[binding as BindingName].serve({
  once: onceward({ store, leaseMs: Number(leaseMs) }),
  options: { scope: "shared" },
  routeOptions: {},
  before: [],
  handle: async (context, body) => ({
    status: 201,
    headers: [["Content-Type", "text/plain"]],
    body: work(context, await body()),
  }),
});
process.send?.({ port });
// Nobody is left to serve.
process.on("disconnect", () => process.exit());
