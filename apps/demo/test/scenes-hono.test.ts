import { testScenes } from "./scenes.ts";

testScenes("hono", ["memory", "pglite"], ["postgres"]);
