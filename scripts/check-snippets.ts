/**
 * Type-checks every `ts` code block of the READMEs and the docs, each as a module of its own, against the workspace's
 * packages. A block marked `ts ignore` is named and counted, not checked.
 */
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import ts from "typescript";
import { report, root, workspacePackages } from "./workspace.ts";

interface Snippet {
  /** A file that only the compiler sees, beside the Markdown file so that its imports resolve from there. */
  path: string;
  markdown: string;
  /** The Markdown file's line (from 1) that holds the first line of code. */
  firstLine: number;
  code: string;
  ignored: boolean;
}

const pages = ["README.md", "CONTRIBUTING.md", "docs/**/*.md", "*/*/README.md", "bench/README.md"];

function snippetsOf(markdown: string): Snippet[] {
  const lines = readFileSync(markdown, "utf8").split(/\r?\n/);
  const snippets: Snippet[] = [];
  for (let index = 0; index < lines.length; index++) {
    const [, indent = "", fence, info = ""] = /^( *)(`{3,}|~{3,})(.*)$/.exec(lines[index] ?? "") ?? [];
    if (!fence) continue;
    const start = index + 1;
    do index++;
    while (index < lines.length && lines[index]?.trim() !== fence);
    const [language = "", ...words] = info.trim().split(/\s+/);
    if (!["ts", "typescript"].includes(language)) continue;
    snippets.push({
      path: `${markdown}.line-${start + 1}.ts`,
      markdown: relative(root, markdown),
      firstLine: start + 1,
      // Blocks inside lists are indented; columns in messages count from the block's own margin.
      code: lines
        .slice(start, index)
        .map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line))
        .join("\n"),
      ignored: words.includes("ignore"),
    });
  }
  return snippets;
}

function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(root, "tsconfig.base.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, files: [] }, ts.sys, root);
  return {
    ...options,
    lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
    // A snippet may show a value without using it, and reads `process.env.NAME` as its readers do.
    noUnusedLocals: false,
    noUnusedParameters: false,
    noPropertyAccessFromIndexSignature: false,
  };
}

/** Sees the snippets as files, and resolves imports from the page's folder, else from any package that knows them. */
function snippetHost(snippets: Snippet[], options: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createCompilerHost(options);
  // `export {}` makes a module of a snippet without imports, so that its names don't meet those of other snippets.
  const virtual = new Map(snippets.map(({ path, code }) => [path, `${code}\nexport {};\n`]));
  const elsewhere = workspacePackages().map(({ path }) => join(path, "index.ts"));
  const cache = ts.createModuleResolutionCache(root, (name) => name, options);
  const resolve = (name: string, from: string) => ts.resolveModuleName(name, from, options, host, cache);
  return {
    ...host,
    fileExists: (path) => virtual.has(path) || host.fileExists(path),
    readFile: (path) => virtual.get(path) ?? host.readFile(path),
    getSourceFile: (path, languageVersion, ...rest) => {
      const code = virtual.get(path);
      return code === undefined
        ? host.getSourceFile(path, languageVersion, ...rest)
        : ts.createSourceFile(path, code, languageVersion, true);
    },
    resolveModuleNameLiterals: (literals, from) =>
      literals.map(({ text }) => {
        const found = resolve(text, from);
        if (found.resolvedModule || !virtual.has(from) || text.startsWith(".")) return found;
        return elsewhere.map((file) => resolve(text, file)).find(({ resolvedModule }) => resolvedModule) ?? found;
      }),
  };
}

function describe(diagnostic: ts.Diagnostic, byPath: Map<string, Snippet>): string[] {
  const message = ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n  ");
  if (!diagnostic.file) return [message];
  const snippet = byPath.get(diagnostic.file.fileName);
  if (!snippet) return [];
  const { line, character } = diagnostic.file.getLineAndCharacterOfPosition(diagnostic.start ?? 0);
  return [`${snippet.markdown}:${snippet.firstLine + line}:${character + 1} TS${diagnostic.code}: ${message}`];
}

const snippets = ts.sys.readDirectory(root, [".md"], ["**/node_modules", "**/dist"], pages).flatMap(snippetsOf);
const ignored = snippets.filter((snippet) => snippet.ignored);
const checked = snippets.filter((snippet) => !snippet.ignored);
for (const { markdown, firstLine } of ignored) console.log(`ignored: ${markdown}:${firstLine}`);

const options = compilerOptions();
const program = ts.createProgram({
  rootNames: checked.map(({ path }) => path),
  options,
  host: snippetHost(checked, options),
});
const byPath = new Map(checked.map((snippet) => [snippet.path, snippet]));
// Errors inside the packages are the type check's to report; here only those that a reader's code would show.
const problems = ts.getPreEmitDiagnostics(program).flatMap((diagnostic) => describe(diagnostic, byPath));
report(problems, `${checked.length} snippets type-check, ${ignored.length} ignored`);
