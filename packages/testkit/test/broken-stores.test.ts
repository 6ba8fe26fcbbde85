import { memoryBackend, memoryStore } from "@onceward/store-memory";
import { describe, expect, it } from "vitest";
import { storeCases } from "../src/index.ts";
import { type Mistake, mistakes, type Parts, start } from "./broken-stores.ts";
import { switchable } from "./switchable.ts";

const together = "S1 to S9 together";
/** Guarantees whose breach shows without concurrency, so that the random sequences must come across it. */
const foundAlone = /^(S3|S4|S5\.(?!4$)|S6)/;

/** The names of the cases that fail, by group. */
async function failuresOf({ wrong, suite, clock }: Pick<Mistake, "wrong" | "suite" | "clock">) {
  let addedMs = 0;
  const now = () => clock?.(addedMs) ?? start + addedMs;
  const backend = memoryBackend({ now });
  const records = backend.records as Parts["records"];
  const cases = storeCases({
    name: "a broken store",
    create() {
      const right = memoryStore({ backend });
      return { ...right, ...wrong?.({ right, records }) };
    },
    clock: {
      advance: (ms) => {
        addedMs += ms;
      },
    },
    inspect(id) {
      const record = records.get(id);
      return record ? { expiresInMs: record.expiresAt - now() } : null;
    },
    patienceMs: 300,
    ...suite?.(backend),
  });
  const failures = new Map<string, string[]>();
  for (const { group, name, run } of cases) {
    const failed = await run().then(
      () => false,
      () => true,
    );
    if (failed) failures.set(group, [...(failures.get(group) ?? []), name]);
  }
  return failures;
}

describe("the kit catches", () => {
  it.for(mistakes)("$name, by $caught", { timeout: 60_000 }, async ({ caught, alsoBreaks = [], ...mistake }) => {
    const failures = await failuresOf(mistake);
    const names = [...failures.values()].flat();
    expect(names.map((name) => name.split(" ")[0])).toContain(caught);
    if (foundAlone.test(caught)) expect([...failures.keys()], "random sequences find it as well").toContain(together);
    failures.delete(together);
    const groups = new Set([...failures.keys()].map((group) => group.split(" ")[0]));
    expect(groups, `failed: ${names.join("; ")}`).toEqual(new Set([caught.split(".")[0], ...alsoBreaks]));
  });

  it("nothing in the right store", { timeout: 60_000 }, async () => {
    expect(await failuresOf({ suite: switchable })).toEqual(new Map());
  });
});
