import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import * as core from "@onceward/core";
import ts from "typescript";
import type { BindingSuite } from "../src/index.ts";

const page = readFileSync(new URL("../../../docs/writing-a-binding.md", import.meta.url), "utf8");
const [, printed = ""] = /```ts\n([\s\S]*?)```/.exec(page) ?? [];
const require = createRequire(import.meta.url);

/** The suite of docs/writing-a-binding.md, as its readers copy it, or with something in it changed. */
export function documentedSuite(from: string | RegExp = "", to = ""): BindingSuite<unknown> {
  const code = printed.replace(from, to);
  if (from !== "" && code === printed) throw new Error(`The page has no ${from}`);
  const { outputText } = ts.transpileModule(code, {
    compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 },
  });
  let suite: BindingSuite<unknown> | undefined;
  const testkit = {
    testBinding: (given: BindingSuite<unknown>) => {
      suite = given;
    },
  };
  const modules: Record<string, unknown> = { "@onceward/core": core, "@onceward/testkit": testkit };
  new Function("require", "exports", outputText)((name: string) => modules[name] ?? require(name), {});
  if (!suite) throw new Error("The page calls no testBinding");
  return suite;
}
