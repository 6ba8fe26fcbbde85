import { memoryBackend, memoryStore } from "@onceward/store-memory";
import { testStore } from "../src/index.ts";

// With a clock that the suite moves, packages/store-memory/test runs it.
const backend = memoryBackend();
testStore({ name: "memoryStore, in real time", create: () => memoryStore({ backend }) });
