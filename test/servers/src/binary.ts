import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

/** A program that tests need, and how to come by it. */
export interface Binary {
  /** Names the program's path, before all else. */
  readonly variable: string;
  /** Its names on PATH, best first. */
  readonly names: readonly string[];
  /** The package of Debian and Ubuntu that holds the first of `names`. */
  readonly aptPackage: string;
}

const INSTALL_TIMEOUT_MS = 10 * 60_000;

/**
 * The path of a program: from its variable, from PATH, or freshly installed with apt-get where this user may.
 *
 * @throws Error that says what to install.
 */
export async function findBinary({ variable, names, aptPackage }: Binary): Promise<string> {
  const named = process.env[variable];
  if (named !== undefined && named !== "") {
    const path = onPath([named]);
    if (path === undefined) throw new Error(`${variable} names ${named}, which is not an executable program`);
    return path;
  }
  const present = onPath(names);
  if (present !== undefined) return present;
  let attempt = "apt-get can't be used here (it needs Debian or Ubuntu, and root)";
  if (process.getuid?.() === 0 && onPath(["apt-get"]) !== undefined && onPath(["flock"]) !== undefined) {
    attempt = await aptInstall(aptPackage, names[0] ?? aptPackage);
    const installed = onPath(names);
    if (installed !== undefined) return installed;
  }
  throw new Error(
    `tests need ${names.join(" or ")}, which is not on PATH, and ${attempt}. Install it ` +
      `(Debian, Ubuntu: apt-get install ${aptPackage}; macOS: brew install ${aptPackage.replace("-server", "")}) ` +
      `or set ${variable} to its path.`,
  );
}

/** The path of the first of these programs that is installed, if any. */
export function onPath(names: readonly string[]): string | undefined {
  // Debian keeps pgbouncer in /usr/sbin, which is not on an ordinary user's PATH.
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/local/sbin", "/usr/sbin"];
  const candidates = names.flatMap((name) => (name.includes("/") ? [name] : folders.map((dir) => join(dir, name))));
  return candidates.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Resolves with what to say in case the program is still missing. */
function aptInstall(aptPackage: string, program: string): Promise<string> {
  const script = fileURLToPath(new URL("./apt-install.sh", import.meta.url));
  // flock(1): of several test workers one installs and the others wait; a killed one leaves no lock behind.
  const args = [join(tmpdir(), "onceward-apt.lock"), "sh", script, aptPackage, program];
  return new Promise((resolve) => {
    const child = execFile("flock", args, { timeout: INSTALL_TIMEOUT_MS }, (error, output) => {
      const lastLines = output.trim().split("\n").slice(-5).join("\n");
      resolve(error === null ? "apt-get did not bring it" : `apt-get failed (${error.message.trim()}\n${lastLines})`);
    });
    child.stderr?.pipe(process.stderr);
  });
}
