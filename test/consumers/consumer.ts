import { execFile } from "node:child_process";
import { join } from "node:path";
import { inject } from "vitest";
import { publishedPackages, readManifest } from "../../scripts/workspace.ts";

export interface Finished {
  /** The exit code, or the signal that ended a process that would not end by itself. */
  ended: number | string;
  stdout: string;
  stderr: string;
}

/** Runs a program of Node to its end; one that something keeps alive is killed, which shows in `ended`. */
export function node(args: string[], cwd: string): Promise<Finished> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, { cwd, timeout: 30_000 }, (_, stdout, stderr) => {
      resolve({ ended: child.exitCode ?? child.signalCode ?? "unknown", stdout, stderr });
    });
  });
}

export interface Entry {
  /** What a user writes after `import`: `@onceward/core` or `@onceward/core/subpath`. */
  specifier: string;
  /** Whether CommonJS users are served too. */
  hasRequire: boolean;
}

/** The importable entries of every published package, as its packed manifest declares them. */
export function entries(): Entry[] {
  return publishedPackages().flatMap(({ manifest }) => {
    const packed = readManifest(join(inject("consumer"), "node_modules", manifest.name));
    return Object.entries(packed.exports ?? {})
      .filter(([, target]) => typeof target === "object")
      .map(([subpath, target]) => ({
        specifier: manifest.name + subpath.slice(1),
        hasRequire: Object.hasOwn(target as object, "require"),
      }));
  });
}

/** Remembers a program's end: several tests ask for the same names. */
function once(start: (specifier: string) => Promise<Finished>): (specifier: string) => Promise<Finished> {
  const started = new Map<string, Promise<Finished>>();
  return (specifier) => {
    const running = started.get(specifier) ?? start(specifier);
    started.set(specifier, running);
    return running;
  };
}

const listNames = "console.log(JSON.stringify(Object.keys(entry).sort()))";

export const importAsEsm = once((specifier) =>
  node(
    ["--input-type=module", "--eval", `import * as entry from ${JSON.stringify(specifier)}; ${listNames}`],
    inject("consumer"),
  ),
);

export const requireAsCjs = (specifier: string): Promise<Finished> =>
  node(
    ["--input-type=commonjs", "--eval", `const entry = require(${JSON.stringify(specifier)}); ${listNames}`],
    inject("consumer"),
  );
