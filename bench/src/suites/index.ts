import type { Suite } from "../result.ts";
import { bytesSuite } from "./bytes.ts";
import { commandsSuite } from "./commands.ts";
import { costsSuite } from "./costs.ts";
import { duplicatesSuite } from "./duplicates.ts";
import { httpSuite } from "./http.ts";
import { importsSuite } from "./imports.ts";
import { memorySuite } from "./memory.ts";
import { pgliteSuite } from "./pglite.ts";
import { postgresSuite } from "./postgres.ts";
import { recordsSuite } from "./records.ts";
import { redisSuite } from "./redis.ts";
import { sweepSuite } from "./sweep.ts";
import { waitersSuite } from "./waiters.ts";

/** In the order in which they run and are shown. */
export const suites: readonly Suite[] = [
  commandsSuite,
  redisSuite,
  postgresSuite,
  pgliteSuite,
  memorySuite,
  httpSuite,
  waitersSuite,
  duplicatesSuite,
  bytesSuite,
  costsSuite,
  recordsSuite,
  sweepSuite,
  importsSuite,
];
