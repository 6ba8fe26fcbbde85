/**
 * Every changeset names existing, published packages and a bump, and says something. `changeset status` would also
 * need the base branch, which a shallow or detached clone lacks.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { publishedPackages, report, root } from "./workspace.ts";

const folder = join(root, ".changeset");
const names = new Set(publishedPackages().map(({ manifest }) => manifest.name));
const files = readdirSync(folder).filter((file) => file.endsWith(".md") && file !== "README.md");

function problemsOf(file: string): string[] {
  const match = /^---\r?\n([\s\S]*?)---\r?\n([\s\S]*)$/.exec(readFileSync(join(folder, file), "utf8"));
  if (!match) return ["has no front matter; create it with `pnpm changeset`"];
  const [, frontMatter = "", summary = ""] = match;
  const lines = frontMatter.split(/\r?\n/).filter((line) => line.trim() !== "");
  const problems = lines.flatMap((line) => {
    const [, name, bump] = /^["']?(@?[^"':]+)["']?: *["']?(\w+)["']?$/.exec(line.trim()) ?? [];
    if (!name || !["patch", "minor", "major"].includes(bump ?? "")) return [`has a line that is no bump: ${line}`];
    return names.has(name) ? [] : [`names ${name}, which is not a published package`];
  });
  return summary.trim() === "" && lines.length > 0 ? [...problems, "has no summary"] : problems;
}

report(
  files.flatMap((file) => problemsOf(file).map((problem) => `.changeset/${file}: ${problem}`)),
  `${files.length} changesets are sound`,
);
