import { describe, it } from "vitest";
import { bodies } from "./binding/bodies.ts";
import { clients } from "./binding/clients.ts";
import { errors } from "./binding/errors.ts";
import { failures } from "./binding/failures.ts";
import { fingerprints } from "./binding/fingerprints.ts";
import { headers } from "./binding/headers.ts";
import { input } from "./binding/input.ts";
import { keeping } from "./binding/keeping.ts";
import { keys } from "./binding/keys.ts";
import { order } from "./binding/order.ts";
import { protection } from "./binding/protection.ts";
import { replays } from "./binding/replays.ts";
import { scopes } from "./binding/scopes.ts";
import type { BindingCase, BindingSuite } from "./binding/suite.ts";
import { waiting } from "./binding/waiting.ts";
import { wire } from "./binding/wire.ts";
import { caseOf, type Group } from "./binding/world.ts";

/** What docs/http.md promises, and the files that prove it. */
const groups: readonly (readonly [string, Group])[] = [
  ["H1 what is protected", protection],
  ["H2 keys", keys],
  ["H3 fingerprints", fingerprints],
  ["H4 scopes", scopes],
  ["H5 what is kept", keeping],
  ["H6 headers", headers],
  ["H7 bodies", bodies],
  ["H8 replays", replays],
  ["H9 errors", errors],
  ["H10 duplicates while the first one runs", waiting],
  ["H11 the end waits for the store", order],
  ["H12 clients that vanish, and slow ones", clients],
  ["H13 on the wire", wire],
  ["H14 outages and lost leases", failures],
  ["H15 bad input", input],
];

/** Every case that applies to the suite, as data: for runners other than Vitest's, and for tests of the kit itself. */
export function bindingCases<Request>(suite: BindingSuite<Request>): BindingCase[] {
  return groups.flatMap(([group, declareAll]) => {
    const cases: BindingCase[] = [];
    declareAll<Request>((name, run) => void cases.push(caseOf(suite, group, name, run)), suite);
    return cases;
  });
}

/**
 * Declares Vitest tests that prove a binding over real sockets. Write `serve` once for a framework; the same table then
 * holds for every binding on every store.
 */
export function testBinding<Request>(suite: BindingSuite<Request>): void {
  const timeoutMs = 6 * (suite.patienceMs ?? 10_000);
  describe(suite.name, () => {
    const cases = bindingCases(suite);
    for (const group of new Set(cases.map((member) => member.group))) {
      describe(group, () => {
        for (const { name, run } of cases.filter((member) => member.group === group))
          it(name, { timeout: timeoutMs }, run);
      });
    }
  });
}
