import { describe, it } from "vitest";
import { exactBytes } from "./store/bytes.ts";
import { closing } from "./store/closing.ts";
import { atomicSteps, oneWinner } from "./store/concurrency.ts";
import { caseOf, type Group } from "./store/context.ts";
import { expiry } from "./store/expiry.ts";
import { fences } from "./store/fences.ts";
import { listing } from "./store/listing.ts";
import { outages } from "./store/outage.ts";
import { ownership } from "./store/ownership.ts";
import { repeats } from "./store/repeats.ts";
import { sequences } from "./store/sequences.ts";
import type { StoreCase, StoreSuite } from "./store/suite.ts";
import { takeover } from "./store/takeover.ts";
import { time } from "./store/time.ts";
import { watching } from "./store/watching.ts";

/** The guarantees of docs/store-contract.md, and the files that prove them. */
const groups: readonly (readonly [string, Group])[] = [
  ["S1 one claim wins", oneWinner],
  ["S2 every call is one atomic step", atomicSteps],
  ["S3 only the current token writes", ownership],
  ["S4 calls may be repeated", repeats],
  ["S5 unfinished work is taken over, and remembered", takeover],
  ["S6 fences only grow", fences],
  ["S7 time is the store's", time],
  ["S8 outcomes expire", expiry],
  ["S8 outcomes expire", listing],
  ["S9 what comes back is what was given", exactBytes],
  ["S10 waiting callers are woken", watching],
  ["S11 closed is closed", closing],
  ["S12 an unreachable server is an error", outages],
  ["S1 to S9 together", sequences],
];

/** Every case that applies to the suite, as data: for runners other than Vitest's, and for tests of the kit itself. */
export function storeCases(suite: StoreSuite): StoreCase[] {
  return groups.flatMap(([group, declareAll]) => {
    const cases: StoreCase[] = [];
    declareAll((name, run, ...needed) => void cases.push(caseOf(suite, group, name, run, needed)), suite);
    return cases;
  });
}

/**
 * Declares Vitest tests that prove a store against docs/store-contract.md. A case that needs a capability the store lacks
 * (`list`, `watch`, `sweep`) shows as skipped, with the reason.
 */
export function testStore(suite: StoreSuite): void {
  const timeoutMs = 12 * (suite.patienceMs ?? 10_000);
  describe(suite.name, () => {
    const cases = storeCases(suite);
    for (const group of new Set(cases.map((member) => member.group))) {
      describe(group, () => {
        for (const { name, run } of cases.filter((member) => member.group === group)) {
          it(name, { timeout: timeoutMs }, async (context) => {
            const lacking = await run();
            if (lacking !== undefined) context.skip(lacking);
          });
        }
      });
    }
  });
}
