import { testStore } from "@onceward/testkit";
import { memoryBackend, memoryStore } from "../src/index.ts";

let now = Date.now();
const backend = memoryBackend({ now: () => now });

testStore({
  name: "memoryStore",
  create: () => memoryStore({ backend }),
  clock: {
    advance(ms) {
      now += ms;
    },
  },
  inspect(id) {
    const record = backend.records.get(id);
    if (!record) return null;
    return { expiresInMs: record.expiresAt - now, bytes: Buffer.concat([...(record.steps?.values() ?? [])]) };
  },
});
