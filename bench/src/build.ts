import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Where bundles go. */
export const distFolder = here("../dist");

/** What bundles leave outside: drivers, frameworks and peers, as they are installed. */
export function installed(): string[] {
  const { dependencies } = JSON.parse(readFileSync(here("../package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  return Object.keys(dependencies).filter((name) => !name.startsWith("@onceward/"));
}

/**
 * Bundles what is measured, with this workspace's packages in it, as tsup builds them. Run through tsx, every closure
 * would cost an extra call that keeps its name.
 */
export async function buildWorkers(): Promise<void> {
  await build({
    entryPoints: [here("./worker.ts"), here("./http/server.ts"), here("./http/load.ts")],
    entryNames: "[name]",
    outdir: distFolder,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    sourcemap: true,
    logLevel: "error",
    external: installed(),
  });
}
