import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { memoryStore } from "@onceward/store-memory";
import ts from "typescript";
import { expect, it, vi } from "vitest";
import { startTimer } from "../src/runtime.ts";
import { onTheEdge } from "./runtimes.ts";

const source = fileURLToPath(new URL("../src", import.meta.url));

/** What a bundler would find in the file once its types are gone. */
function importsOf(path: string): string[] {
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022, verbatimModuleSyntax: true };
  const { outputText } = ts.transpileModule(readFileSync(path, "utf8"), { compilerOptions, fileName: path });
  return ts.preProcessFile(outputText).importedFiles.map(({ fileName }) => fileName);
}

it("core imports nothing but itself: no Node builtin, no dependency", () => {
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  expect(files).toContain("index.ts");
  const foreign = files.flatMap((file) =>
    importsOf(join(source, file))
      .filter((name) => !name.startsWith("."))
      .map((name) => `${file}: ${name}`),
  );
  expect(foreign).toEqual([]);
});

it("core works without Node's builtins", async () => {
  const { onceward, aesGcmCodec } = await onTheEdge(() => import("../src/index.ts"));
  const key = new Uint8Array(32);
  const codec = aesGcmCodec({ keys: { key }, current: "key", hmacSecret: key });
  const once = onceward({ store: memoryStore(), codec });
  let ran = 0;
  const pay = () =>
    once.run({ operation: "pay", key: "k-1", payload: { cents: 5 } }, async (context) => {
      ran++;
      return { charge: await context.downstreamKey("psp"), card: await context.step("card", () => "4242") };
    });
  const [first, joined] = await Promise.all([pay(), pay()]);
  expect(joined.value).toEqual(first.value);
  expect(await pay()).toEqual({ value: first.value, replayed: true });
  expect(ran).toBe(1);
  await once.close();
});

it("timers work where they are numbers", () => {
  const fire = vi.fn();
  vi.stubGlobal("setTimeout", () => 5);
  vi.stubGlobal("clearTimeout", fire);
  try {
    startTimer(10, () => {})();
    expect(fire).toHaveBeenCalledWith(5);
  } finally {
    vi.unstubAllGlobals();
  }
});

it("a process without getBuiltinModule, or none at all, is an edge runtime", async () => {
  const { nodeCrypto, asyncHooks } = await onTheEdge(() => import("../src/runtime.ts"));
  expect([nodeCrypto, asyncHooks]).toEqual([undefined, undefined]);
});
