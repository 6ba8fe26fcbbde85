import { readFileSync } from "node:fs";
import * as core from "@onceward/core";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { storeCases } from "../src/index.ts";

/** The store that docs/writing-a-store.md begins with, as its readers copy it. */
function documentedStore(): { newServer: () => object; mapStore: (options: { server: object }) => core.Store } {
  const page = readFileSync(new URL("../../../docs/writing-a-store.md", import.meta.url), "utf8");
  const [, code = ""] = /```ts\n([\s\S]*?)```/.exec(page) ?? [];
  const { outputText } = ts.transpileModule(code, {
    compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 },
  });
  const exports = {};
  new Function("require", "exports", outputText)(() => core, exports);
  return exports as ReturnType<typeof documentedStore>;
}

describe("the store of docs/writing-a-store.md", () => {
  const { newServer, mapStore } = documentedStore();
  const server = newServer();
  const ofCapabilities = /^S(8\.1[123]|10\.)/;
  it.for(storeCases({ name: "mapStore", create: () => mapStore({ server }) }))("$name", async ({ name, run }) => {
    const lacking = await run();
    expect(lacking, "it has neither list nor watch").toEqual(
      ofCapabilities.test(name) ? expect.any(String) : undefined,
    );
  });
});
