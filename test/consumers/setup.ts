/** Packs every published package as `pnpm publish` would, and installs the tarballs into a project outside the workspace. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { publishedPackages, readManifest, root, type WorkspacePackage } from "../../scripts/workspace.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The project that the tarballs are installed in. */
    consumer: string;
    /** Package name to the path of its tarball. */
    tarballs: Record<string, string>;
  }
}

const run = promisify(execFile);

async function pack(packages: WorkspacePackage[], destination: string): Promise<Record<string, string>> {
  const tarballs: Record<string, string> = {};
  for (const { folder, path, manifest } of packages) {
    if (!existsSync(join(path, "dist"))) throw new Error(`${folder} is not built: run \`pnpm build\` first`);
    const before = new Set(readdirSync(destination));
    await run("pnpm", ["pack", "--pack-destination", destination], { cwd: path });
    const [file] = readdirSync(destination).filter((name) => !before.has(name));
    if (!file) throw new Error(`pnpm pack left no tarball for ${folder}`);
    tarballs[manifest.name] = join(destination, file);
  }
  return tarballs;
}

/** The version that the workspace's lockfile chose, so that a consumer's peers don't change under our feet. */
function lockedVersion(name: string, from: string): string {
  const folder = [from, root].map((base) => join(base, "node_modules", name)).find(existsSync);
  if (!folder) throw new Error(`${name} is a peer of ${from}, but no devDependency there or at the root provides it`);
  return readManifest(folder).version ?? "*";
}

/** What a user adds next to our packages: their peers, and the types of those peers. */
function companions({ path, manifest }: WorkspacePackage): [string, string][] {
  const peers = Object.keys(manifest.peerDependencies ?? {}).filter((name) => !name.startsWith("@onceward/"));
  const rootTypes = Object.keys(readManifest(root).devDependencies ?? {});
  const types = [...Object.keys(manifest.devDependencies ?? {}), ...rootTypes].filter((name) =>
    name.startsWith("@types/"),
  );
  return [...peers, ...types].map((name) => [name, lockedVersion(name, path)]);
}

export default async function setup(project: TestProject): Promise<() => void> {
  // The real path: where the temporary folder is a link, tools print other names than we would look for.
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "onceward-consumers-")));
  const removeFolder = () => rmSync(folder, { recursive: true, force: true });
  try {
    const consumer = join(folder, "consumer");
    const packed = join(folder, "packed");
    for (const path of [consumer, packed]) mkdirSync(path);
    const packages = publishedPackages();
    const tarballs = await pack(packages, packed);
    const files = Object.fromEntries(Object.entries(tarballs).map(([name, path]) => [name, `file:${path}`]));
    const dependencies = { ...Object.fromEntries(packages.flatMap(companions)), ...files };
    writeFileSync(join(consumer, "package.json"), JSON.stringify({ private: true, dependencies }, null, 2));
    // JSON is YAML. Our packages depend on each other by version, which no registry has yet.
    const settings = { packages: ["."], overrides: files, allowBuilds: { esbuild: false } };
    writeFileSync(join(consumer, "pnpm-workspace.yaml"), JSON.stringify(settings));
    await run("pnpm", ["install", "--prefer-offline", "--no-frozen-lockfile"], { cwd: consumer });
    project.provide("consumer", consumer);
    project.provide("tarballs", tarballs);
  } catch (error) {
    removeFolder();
    throw error;
  }
  return removeFolder;
}
