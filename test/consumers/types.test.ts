import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { root } from "../../scripts/workspace.ts";
import { entries, importAsEsm, node } from "./consumer.ts";

/** Compiles a strict project of the consumer, and returns what concerns its own files or our declarations. */
async function typeErrors(folder: string, compilerOptions: object, files: Record<string, string>): Promise<string[]> {
  const path = join(inject("consumer"), folder);
  mkdirSync(path);
  for (const [name, code] of Object.entries(files)) writeFileSync(join(path, name), code);
  const options = { target: "ES2022", strict: true, exactOptionalPropertyTypes: true, types: ["node"], noEmit: true };
  writeFileSync(
    join(path, "tsconfig.json"),
    // Declarations are checked too, ours for what they say and our peers' because TypeScript can't tell them apart.
    JSON.stringify({
      compilerOptions: { ...options, skipLibCheck: false, ...compilerOptions },
      files: Object.keys(files),
    }),
  );
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const { ended, stdout } = await node([tsc, "-p", path, "--pretty", "false"], inject("consumer"));
  const errors = stdout.split("\n").filter((line) => line.includes("error TS"));
  expect(ended === 0 || errors.length > 0, `tsc ended with ${ended}: ${stdout}`).toBe(true);
  return errors.filter((line) => !line.includes("node_modules/") || line.includes("node_modules/@onceward/"));
}

/** One file per entry that imports by name everything that the entry exports when it runs. */
async function programs(extension: string, only = entries()): Promise<Record<string, string>> {
  const files = only.map(async ({ specifier }, index): Promise<[string, string]> => {
    const { stdout } = await importAsEsm(specifier);
    const names = (JSON.parse(stdout) as string[]).join(", ");
    const code = `import { ${names} } from ${JSON.stringify(specifier)};\nexport const used: unknown[] = [${names}];\n`;
    return [`entry-${index}.${extension}`, code];
  });
  return Object.fromEntries(await Promise.all(files));
}

test("strict TypeScript compiles against every entry with moduleResolution nodenext, as ESM", async () => {
  expect(await typeErrors("nodenext-esm", { module: "nodenext" }, await programs("mts"))).toEqual([]);
});

test("strict TypeScript compiles against every entry with moduleResolution nodenext, as CommonJS", async () => {
  const files = await programs(
    "cts",
    entries().filter(({ hasRequire }) => hasRequire),
  );
  expect(await typeErrors("nodenext-cjs", { module: "nodenext" }, files)).toEqual([]);
});

test("strict TypeScript compiles against every entry with moduleResolution bundler", async () => {
  const compilerOptions = { module: "esnext", moduleResolution: "bundler", verbatimModuleSyntax: true };
  expect(await typeErrors("bundler", compilerOptions, await programs("ts"))).toEqual([]);
});
