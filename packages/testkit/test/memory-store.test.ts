import { memoryBackend, memoryStore } from "@onceward/store-memory";
import { testStore } from "../src/index.ts";

let now = 1_700_000_000_000;
const manual = memoryBackend({ now: () => now });
testStore({
  name: "memoryStore, with a clock that the suite moves",
  create: () => memoryStore({ backend: manual }),
  clock: {
    advance(ms) {
      now += ms;
    },
  },
});

const real = memoryBackend();
testStore({ name: "memoryStore, in real time", create: () => memoryStore({ backend: real }) });
