import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { findBinary } from "../src/binary.ts";
import { startPostgres, startRedis } from "../src/index.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "onceward-binary-"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

function program(name: string, body: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

const binary = { variable: "ONCEWARD_TEST_PROGRAM", names: ["first-choice", "second-choice"], aptPackage: "a-server" };

describe("findBinary", () => {
  it("prefers the variable, then the first name on PATH", async () => {
    vi.stubEnv("PATH", folder);
    const second = program("second-choice", "");
    expect(await findBinary(binary)).toBe(second);
    const first = program("first-choice", "");
    expect(await findBinary(binary)).toBe(first);
    vi.stubEnv(binary.variable, second);
    expect(await findBinary(binary)).toBe(second);
  });

  it("says exactly what to install, and never skips", async () => {
    vi.stubEnv("PATH", folder);
    await expect(findBinary(binary)).rejects.toThrow(
      /tests need first-choice or second-choice, .*apt-get install a-server; .*or set ONCEWARD_TEST_PROGRAM to its path/,
    );
  });

  it("says which variable is wrong", async () => {
    vi.stubEnv("REDIS_SERVER", join(folder, "missing"));
    await expect(startRedis()).rejects.toThrow(/REDIS_SERVER names .*missing, which is not an executable program/);
    vi.stubEnv("POSTGRES_BIN", folder);
    await expect(startPostgres()).rejects.toThrow("POSTGRES_BIN must name the folder of initdb and postgres");
  });
});

describe.runIf(process.platform === "linux")("installing with apt-get", () => {
  const script = fileURLToPath(new URL("../src/apt-install.sh", import.meta.url));
  const policy = () => join(folder, "policy-rc.d");
  const install = () =>
    promisify(execFile)("flock", [join(folder, "lock"), "sh", script, "a-server", "a-program"], {
      env: { PATH: `${folder}:${process.env["PATH"]}`, POLICY_RC_D: policy() },
    });

  it("happens once when several workers need the same, without starting a service", async () => {
    program(
      "apt-get",
      `echo "$@" >> ${folder}/calls; sh ${folder}/policy-rc.d; echo "policy $?" >> ${folder}/calls
       printf '#!/bin/sh\\n' > ${folder}/a-program; chmod +x ${folder}/a-program`,
    );
    const runs = await Promise.all(Array.from({ length: 5 }, install));
    expect(runs.map(({ stderr }) => stderr).filter(Boolean)).toEqual([
      "test-servers: installing a-server with apt-get, once\n",
    ]);
    const calls = readFileSync(join(folder, "calls"), "utf8").trim().split("\n");
    expect(calls).toEqual([expect.stringMatching(/^install -y --no-install-recommends .*a-server$/), "policy 101"]);
    expect(() => readFileSync(policy())).toThrow("ENOENT");
  });

  it("updates the package lists when they do not know the package", async () => {
    program(
      "apt-get",
      `echo "$1" >> ${folder}/calls
       case "$1" in update) touch ${folder}/updated ;; install) test -e ${folder}/updated ;; esac`,
    );
    await install();
    expect(readFileSync(join(folder, "calls"), "utf8")).toBe("install\nupdate\ninstall\n");
  });
});
