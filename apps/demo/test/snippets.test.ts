import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, it } from "vitest";
import { scenes } from "../src/scenes/index.ts";
import { frameworks, storeKinds } from "../src/shared/messages.ts";
import { snippetFor } from "../src/shared/snippets.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

it("every snippet that the page can show compiles", () => {
  // Inside the app, so that its packages are found.
  const folder = mkdtempSync(fileURLToPath(new URL("../node_modules/.snippets-", import.meta.url)));
  try {
    const yours = "export const createRecord = async () => 'id';\nexport const sendMail = async (_id: string) => {};\n";
    writeFileSync(join(folder, "your-code.ts"), yours);
    const files = new Set<string>();
    for (const { id } of scenes) {
      for (const framework of frameworks) {
        for (const store of storeKinds) {
          const file = join(folder, `${id}-${framework}-${store}.ts`);
          writeFileSync(file, snippetFor(id, framework, store));
          files.add(file);
        }
      }
    }
    const { config } = ts.readConfigFile(join(root, "tsconfig.base.json"), ts.sys.readFile);
    const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root, { noUnusedParameters: false });
    const program = ts.createProgram([...files], options);
    const problems = [...files].flatMap((file) => {
      const source = program.getSourceFile(file);
      return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
        ({ messageText }) => `${file}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`,
      );
    });
    expect(files.size).toBe(scenes.length * 12);
    expect(problems).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
