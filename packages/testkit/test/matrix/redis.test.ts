import { redisStore } from "@onceward/store-redis";
import { sharedRedis } from "@onceward/test-servers";
import { Redis } from "ioredis";
import { afterAll } from "vitest";
import { testBinding } from "../../src/index.ts";
import { bindingNames, bindings } from "./bindings.ts";
import { startProcess } from "./start-process.ts";

const server = await sharedRedis();
const client = new Redis(server.url);
afterAll(() => client.disconnect());

for (const name of bindingNames)
  testBinding({
    name: `${name} on Redis`,
    ...bindings[name],
    createStore: () => redisStore({ client }),
    startProcess: ({ leaseMs }) => startProcess(name, "redis", server.url, leaseMs),
  });
