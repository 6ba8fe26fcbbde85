import type { ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import { build, type Rolldown } from "vite";

const root = fileURLToPath(new URL("../page", import.meta.url));
const types: Record<string, string> = {
  html: "text/html",
  js: "text/javascript",
  css: "text/css",
  svg: "image/svg+xml",
};
/** The page loads nothing from anywhere else, and can't be made to. */
const policy = "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'";

/** The page, built in memory: a fresh clone has nothing to build before, and nothing is left behind. */
export async function buildPage(): Promise<(path: string, response: ServerResponse) => boolean> {
  const result = (await build({ root, logLevel: "warn", configFile: false, build: { write: false } })) as
    | Rolldown.RolldownOutput
    | Rolldown.RolldownOutput[];
  const outputs = Array.isArray(result) ? result : [result];
  const files = new Map(
    outputs
      .flatMap(({ output }) => output)
      .map((file) => [`/${file.fileName}`, file.type === "chunk" ? file.code : file.source]),
  );
  return (path, response) => {
    const name = path === "/" ? "/index.html" : path;
    const content = files.get(name);
    if (content === undefined) return false;
    const type = types[name.split(".").at(-1) ?? ""] ?? "application/octet-stream";
    response.writeHead(200, {
      "content-type": `${type}; charset=utf-8`,
      "cache-control": "no-store",
      "content-security-policy": policy,
    });
    response.end(content);
    return true;
  };
}
