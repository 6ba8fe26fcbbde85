import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { publishedPackages, readManifest, root } from "../../scripts/workspace.ts";
import { entries, node } from "./consumer.ts";

const packages = publishedPackages().map(({ manifest: { name } }) => ({
  name,
  tarball: inject("tarballs")[name] ?? "",
}));

/** The entry of a development tool of this workspace. */
const tool = (name: string, path: string) => join(root, "node_modules", name, path);

test.each(packages)("publint --strict has nothing to say of $name", async ({ tarball }) => {
  const { ended, stdout, stderr } = await node([tool("publint", "src/cli.js"), "run", "--strict", tarball], root);
  expect(ended, stdout + stderr).toBe(0);
});

test.each(packages)("the types of $name are right for every kind of resolution", async ({ name, tarball }) => {
  const own = entries().filter(({ specifier }) => specifier === name || specifier.startsWith(`${name}/`));
  // Subpaths can't work in Node 10, nor CommonJS in a package that is for ESM alone.
  const profile = own.every(({ hasRequire }) => hasRequire) ? "node16" : "esm-only";
  const entrypoints = own.map(({ specifier }) => `.${specifier.slice(name.length)}`);
  const attw = tool("@arethetypeswrong/cli", "dist/index.js");
  const args = [attw, tarball, "--profile", profile, "--format", "ascii", "--entrypoints", ...entrypoints];
  const { ended, stdout, stderr } = await node(args, root);
  expect(ended, stdout + stderr).toBe(0);
});

test.each(packages)("the tarball of $name has its licence, README and no source or test", ({ tarball }) => {
  const files = execFileSync("tar", ["-tzf", tarball], { encoding: "utf8" }).trim().split("\n");
  expect(files).toEqual(expect.arrayContaining(["package/LICENSE", "package/README.md", "package/package.json"]));
  expect(files.filter((file) => /^package\/(src|test)\//.test(file))).toEqual([]);
});

test.each(packages)("$name depends on published versions, not on the workspace", ({ name }) => {
  const { dependencies, peerDependencies } = readManifest(join(inject("consumer"), "node_modules", name));
  expect(JSON.stringify({ dependencies, peerDependencies })).not.toContain("workspace:");
});
