import { testScenes } from "./scenes.ts";

testScenes("express", ["memory", "pglite"], ["redis", "postgres"]);
