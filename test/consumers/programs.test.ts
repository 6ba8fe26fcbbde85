import { cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { root } from "../../scripts/workspace.ts";
import { node } from "./consumer.ts";

const source = join(import.meta.dirname, "programs");
const programs = readdirSync(source).map((file) => file.replace(/\.ts$/, ""));

/** The same program as a user's ESM project and as a CommonJS one. */
const kinds = { esm: { from: "mts", to: "mjs" }, cjs: { from: "cts", to: "cjs" } };

test.each(programs.flatMap((program) => (["esm", "cjs"] as const).map((kind) => ({ program, kind }))))(
  "$program runs as $kind",
  async ({ program, kind }) => {
    const { from, to } = kinds[kind];
    const folder = join(inject("consumer"), `program-${program}-${kind}`);
    mkdirSync(folder);
    cpSync(join(source, `${program}.ts`), join(folder, `program.${from}`));
    const compilerOptions = { target: "ES2022", module: "nodenext", strict: true, skipLibCheck: true, types: ["node"] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: [`program.${from}`] }));
    const compiled = await node([join(root, "node_modules/typescript/bin/tsc"), "-p", folder], folder);
    expect(compiled).toEqual({ ended: 0, stdout: "", stderr: "" });
    expect(await node([join(folder, `program.${to}`)], folder)).toEqual({ ended: 0, stdout: "done\n", stderr: "" });
  },
);
