import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const repository = /^https:\/\/github\.com\/onceward\/onceward(?:\/(?:blob|tree)\/main)?(?=\/|#|$)/;

const pages = [
  ...readdirSync(root).map((name) => join(root, name)),
  ...readdirSync(join(root, "docs"), { recursive: true }).map((name) => join(root, "docs", String(name))),
  ...readdirSync(join(root, "packages")).map((name) => join(root, "packages", name, "README.md")),
].filter((path) => path.endsWith(".md") && existsSync(path));

const withoutCode = (markdown: string) => markdown.replace(/^```[\s\S]*?^```/gm, "");

/** The anchors that GitHub makes of a page's headings. */
function anchorsOf(path: string): string[] {
  const headings = withoutCode(readFileSync(path, "utf8")).matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{Letter}\p{Number}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

/** What is wrong with a link, or nothing. Links to other sites are not followed. */
function brokenLink(page: string, link: string): string | undefined {
  const ours = repository.test(link);
  if (!ours && /^[a-z]+:/.test(link)) return undefined;
  const [path = "", anchor] = link.replace(repository, "").split("#");
  if (ours && /^\/(issues|security|pulls)/.test(path)) return undefined;
  const target = ours ? join(root, path) : path === "" ? page : join(dirname(page), path);
  if (!existsSync(target)) return `${link}: there is no such file`;
  const shown = statSync(target).isDirectory() ? join(target, "README.md") : target;
  if (anchor === undefined || anchor === "readme" || anchorsOf(shown).includes(anchor)) return undefined;
  return `${link}: there is no such heading`;
}

describe.each(pages.map((page) => [relative(root, page), page] as const))("%s", (_, page) => {
  it("links to what is there", () => {
    const links = [...withoutCode(readFileSync(page, "utf8")).matchAll(/\]\(([^)\s]+)\)/g)];
    expect(links.flatMap(([, link = ""]) => brokenLink(page, link) ?? [])).toEqual([]);
  });
});

describe("docs/failure-modes.md", () => {
  const page = readFileSync(join(root, "docs/failure-modes.md"), "utf8");
  const proofs = page
    .split(/\n{2,}/)
    .filter((paragraph) => paragraph.startsWith("Proved "))
    .map((paragraph) => paragraph.replaceAll("\n", " "));
  const tests = proofs.flatMap((proof) => proof.match(/[\w/-]+\.test\.ts/g) ?? []);
  const titles = tests.map((name) => readFileSync(join(root, "packages/core/test", name), "utf8")).join("\n");
  const contract = readFileSync(join(root, "docs/store-contract.md"), "utf8");

  it("names tests that exist", () => {
    const named = proofs.flatMap((proof) => [...proof.matchAll(/"([^"]+)"/g)].map(([, title = ""]) => title));
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter((title) => !titles.includes(`("${title}"`))).toEqual([]);
  });

  it("names guarantees that exist", () => {
    const named = [...page.matchAll(/\bS\d+\.\d+\b/g)].map(([number]) => number);
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter((number) => !contract.includes(`**${number}**`))).toEqual([]);
  });

  it("names cases of the binding kit that exist", () => {
    const kit = join(root, "packages/testkit/src/binding");
    const cases = readdirSync(kit)
      .map((name) => readFileSync(join(kit, name), "utf8"))
      .join();
    const named = [...page.matchAll(/\bH\d+\.\d+\b/g)].map(([number]) => number);
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((number) => !cases.includes(`"${number} `))).toEqual([]);
  });
});

describe("the README of core", () => {
  it("has every event of events.ts in its table, and no other", () => {
    const readme = readFileSync(join(root, "packages/core/README.md"), "utf8");
    const [, table = ""] = /## Events\n([\s\S]*?)\n## /.exec(readme) ?? [];
    const rows = [...table.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name]) => name);
    const source = readFileSync(join(root, "packages/core/src/events.ts"), "utf8");
    const events = [...source.matchAll(/readonly type: "([\w-]+)"/g)].map(([, name]) => name);
    expect(rows.sort()).toEqual(events.sort());
  });
});

describe("docs/errors.md", () => {
  it("has the status of every error that clients are told of", () => {
    const page = readFileSync(join(root, "docs/errors.md"), "utf8");
    const source = readFileSync(join(root, "packages/core/src/http/problem.ts"), "utf8");
    const sent = [...source.matchAll(/(ERR_\w+): \{ status: (\d+)/g)].map(([, code, status]) => `${code} ${status}`);
    const told = [...page.matchAll(/^### (ERR_\w+)\n\n`\w+`, HTTP (\d+)\./gm)];
    expect(sent.length).toBeGreaterThan(5);
    expect(told.map(([, code, status]) => `${code} ${status}`).sort()).toEqual(sent.sort());
  });
});
