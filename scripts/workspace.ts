import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The parts of a package.json that the checks look at. */
export interface Manifest {
  name: string;
  version?: string;
  private?: boolean;
  description?: string;
  license?: string;
  homepage?: string;
  bugs?: { url?: string };
  repository?: { type?: string; url?: string; directory?: string };
  keywords?: string[];
  type?: string;
  sideEffects?: boolean | string[];
  engines?: Record<string, string>;
  files?: string[];
  exports?: Record<string, unknown>;
  publishConfig?: { access?: string; exports?: Record<string, unknown> };
  scripts?: Record<string, string>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

export interface WorkspacePackage {
  /** Relative to the root, with forward slashes: `packages/core`. */
  folder: string;
  path: string;
  manifest: Manifest;
}

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

export const readManifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;

/** Every package of the workspace, found by the globs of pnpm-workspace.yaml (`folder` or `folder/*`). */
export function workspacePackages(): WorkspacePackage[] {
  const yaml = readFileSync(join(root, "pnpm-workspace.yaml"), "utf8");
  const globs = yaml.match(/^packages:\n((?: +- .*\n)+)/m)?.[1]?.matchAll(/- "?([^"\n]+)"?/g) ?? [];
  const folders = [...globs].flatMap(([, glob = ""]) => {
    if (!glob.endsWith("/*")) return [glob];
    const parent = glob.slice(0, -2);
    return existsSync(join(root, parent)) ? readdirSync(join(root, parent)).map((name) => `${parent}/${name}`) : [];
  });
  return folders
    .map((folder) => ({ folder, path: join(root, folder) }))
    .filter(({ path }) => existsSync(join(path, "package.json")))
    .map(({ folder, path }) => ({ folder, path, manifest: readManifest(path) }))
    .sort((a, b) => a.folder.localeCompare(b.folder));
}

/** The packages that users install. */
export const publishedPackages = (): WorkspacePackage[] =>
  workspacePackages().filter(({ folder, manifest }) => folder.startsWith("packages/") && !manifest.private);

/** Prints what is wrong, if anything, and sets the exit code accordingly. */
export function report(problems: string[], summary: string): void {
  for (const problem of problems) console.error(problem);
  console.log(problems.length === 0 ? summary : `${problems.length} problem(s)`);
  if (problems.length > 0) process.exitCode = 1;
}
