import { testScenes } from "./scenes.ts";

testScenes("fastify", ["memory", "pglite"], ["redis"]);
