import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import type { Suite } from "../result.ts";
import { median } from "../statistics.ts";

const packagesFolder = fileURLToPath(new URL("../../../packages", import.meta.url));

export const importsSuite: Suite = {
  name: "imports",
  async run(context) {
    const names = readdirSync(packagesFolder).filter((name) => existsSync(`${packagesFolder}/${name}/src/index.ts`));
    const rows: [string, number, number, number][] = [];
    for (const name of names.filter((one) => one !== "testkit")) {
      context.progress(`Imports: ${name}`);
      const folder = `${packagesFolder}/${name}`;
      const own = await bundle(folder, { minify: true, packages: "external", write: false });
      const text = own.outputFiles?.[0]?.contents ?? new Uint8Array();
      // Beside the package's own dependencies, where its imports are found.
      const outfile = `${folder}/node_modules/.bench/import.mjs`;
      await bundle(folder, {
        outfile,
        packages: "external",
        alias: { "@onceward/core": `${packagesFolder}/core/src/index.ts` },
      });
      const times = Array.from({ length: context.full ? 21 : 9 }, () => importMs(outfile));
      rmSync(`${folder}/node_modules/.bench`, { recursive: true });
      rows.push([`@onceward/${name}`, text.byteLength, gzipSync(text).byteLength, median(times)]);
    }
    return {
      figures: Object.fromEntries(rows.map(([name, size]) => [name, size])),
      tables: [
        {
          id: "imports",
          title: "Size and cold import",
          about:
            "Bytes of the package's own code, minified, without its dependencies; milliseconds of a first `import` in a new process, dependencies and core included.",
          columns: ["", "minified B", "gzipped B", "import ms"],
          rows,
        },
      ],
    };
  },
};

function bundle(folder: string, options: Parameters<typeof build>[0]) {
  return build({
    entryPoints: [`${folder}/src/index.ts`],
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    logLevel: "error",
    ...options,
  });
}

function importMs(file: string): number {
  const script = `const t = performance.now(); await import(${JSON.stringify(file)}); console.log(performance.now() - t); process.exit()`;
  readFileSync(file);
  return Number(execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" }));
}
