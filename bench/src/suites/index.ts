import type { Suite } from "../result.ts";
import { httpSuite } from "./http.ts";
import { memorySuite } from "./memory.ts";
import { pgliteSuite } from "./pglite.ts";
import { postgresSuite } from "./postgres.ts";
import { redisSuite } from "./redis.ts";

/** In the order in which they run and are shown. */
export const suites: readonly Suite[] = [redisSuite, postgresSuite, pgliteSuite, memorySuite, httpSuite];
