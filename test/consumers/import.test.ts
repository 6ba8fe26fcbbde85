import { expect, test } from "vitest";
import { entries, importAsEsm, requireAsCjs } from "./consumer.ts";

test.each(entries())("$specifier imports as ESM, prints nothing, leaves the process free to exit", async (entry) => {
  const { ended, stdout, stderr } = await importAsEsm(entry.specifier);
  expect({ ended, stderr }).toEqual({ ended: 0, stderr: "" });
  expect(JSON.parse(stdout)).not.toEqual([]);
});

const forBoth = entries().filter(({ hasRequire }) => hasRequire);

test.each(forBoth)("$specifier exports the same names to CommonJS as to ESM", async ({ specifier }) => {
  const [esm, cjs] = await Promise.all([importAsEsm(specifier), requireAsCjs(specifier)]);
  expect({ ended: cjs.ended, stderr: cjs.stderr }).toEqual({ ended: 0, stderr: "" });
  expect(JSON.parse(cjs.stdout)).toEqual(JSON.parse(esm.stdout));
});
