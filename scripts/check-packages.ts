/**
 * What every published package must have, so that npm shows it well and users get what they expect.
 * The conventions are those of packages/core/package.json.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { publishedPackages, report, root, type WorkspacePackage } from "./workspace.ts";

const repositoryUrl = "git+https://github.com/onceward/onceward.git";
const homepage = "https://github.com/onceward/onceward";

const readme = existsSync(join(root, "README.md")) ? readFileSync(join(root, "README.md"), "utf8") : "";

function problemsOf({ folder, path, manifest }: WorkspacePackage): string[] {
  const { publishConfig, exports = {} } = manifest;
  const expectations: [boolean, string][] = [
    [existsSync(join(path, "README.md")), "has no README.md"],
    [manifest.license === "MIT", 'needs "license": "MIT"'],
    [(manifest.description ?? "").length > 0, "needs a description"],
    [(manifest.keywords ?? []).includes("idempotency"), 'needs keywords, "idempotency" among them'],
    [manifest.repository?.url === repositoryUrl, `needs "repository.url": "${repositoryUrl}"`],
    [manifest.repository?.directory === folder, `needs "repository.directory": "${folder}"`],
    [manifest.homepage === `${homepage}/tree/main/${folder}#readme`, `needs "homepage" that shows ${folder}`],
    [manifest.bugs?.url === `${homepage}/issues`, `needs "bugs.url": "${homepage}/issues"`],
    [manifest.type === "module", 'needs "type": "module"'],
    [manifest.sideEffects === false, 'needs "sideEffects": false'],
    [manifest.engines?.["node"] === ">=20", 'needs "engines.node": ">=20"'],
    [(manifest.files ?? []).includes("dist"), 'needs "dist" among "files"'],
    [publishConfig?.access === "public", 'needs "publishConfig.access": "public"'],
    [
      Object.keys(exports).join() === Object.keys(publishConfig?.exports ?? {}).join(),
      'must publish the same subpaths ("publishConfig.exports") as it has in the workspace ("exports")',
    ],
    [manifest.scripts?.["build"] === "tsup", 'needs "scripts.build": "tsup"'],
    [manifest.scripts?.["typecheck"] !== undefined, 'needs "scripts.typecheck"'],
    [new RegExp(`^\\|.*${manifest.name}\\b`, "m").test(readme), "is missing from the package table in README.md"],
  ];
  return expectations.filter(([holds]) => !holds).map(([, problem]) => `${folder}: ${manifest.name} ${problem}`);
}

const packages = publishedPackages();
report(packages.flatMap(problemsOf), `${packages.length} packages follow the conventions`);
