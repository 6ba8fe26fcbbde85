import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { eventually, startRedis } from "../src/index.ts";
import { parentOf, processesMentioning, processState, sharedMemoryOf } from "./processes.ts";

const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

interface Report {
  readonly root: string;
  readonly pids: readonly number[];
}

async function startServersElsewhere(ending: string): Promise<{ child: ChildProcess; report: Report }> {
  const args = ["--import", "tsx", fixture("start-servers.ts"), ending];
  // A process group of its own, as a terminal would give it: Ctrl-C signals all of it.
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "ignore"], detached: true });
  children.push(child);
  for await (const line of createInterface({ input: child.stdout })) {
    return { child, report: JSON.parse(line) as Report };
  }
  throw new Error("the fixture ended without a report");
}

async function expectNothingLeft({ root, pids }: Report): Promise<void> {
  await eventually(() => !existsSync(root), { what: `${root} is removed` });
  expect(pids.filter((pid) => processState(pid) !== undefined)).toEqual([]);
  expect(processesMentioning(root)).toEqual([]);
  expect(sharedMemoryOf(pids)).toEqual([]);
}

describe("nothing is left of servers whose test process", () => {
  it.each(["SIGKILL", "SIGTERM", "SIGINT"] as const)("was ended by %s, a paused one included", async (signal) => {
    const { child, report } = await startServersElsewhere("wait");
    expect(report.pids.length).toBeGreaterThan(3);
    expect(report.pids.map(processState)).not.toContain(undefined);
    expect(sharedMemoryOf(report.pids)).toHaveLength(2);
    process.kill(-(child.pid as number), signal);
    await expectNothingLeft(report);
  });

  it("was killed while they started", async () => {
    const { child, report } = await startServersElsewhere("while starting");
    child.kill("SIGKILL");
    await expectNothingLeft(report);
  });

  it.each(["return", "throw"])("ended by %s, which open servers do not prevent", async (ending) => {
    const { report } = await startServersElsewhere(ending);
    await expectNothingLeft(report);
  });

  it("was a vitest worker whose suite failed", async () => {
    const vitest = join(dirname(createRequire(import.meta.url).resolve("vitest/package.json")), "vitest.mjs");
    const output = await new Promise<string>((resolve) => {
      const { REDIS_URL: _, DATABASE_URL: __, ...env } = process.env;
      execFile(process.execPath, [vitest, "run", "--root", fixture("failing-suite")], { env }, (_error, stdout) =>
        resolve(stdout),
      );
    });
    expect(output).toContain("1 failed");
    await expectNothingLeft({ root: /root=(\S+)/.exec(output)?.[1] as string, pids: [] });
  });
});

it("a lost supervisor takes its servers along, and another is started for the next", async () => {
  const redis = await startRedis();
  const report = { root: dirname(redis.dir), pids: [redis.pid as number] };
  process.kill(parentOf(redis.pid as number), "SIGKILL");
  await expectNothingLeft(report);
  await expect(redis.pause()).rejects.toThrow("is not running");
  const next = await startRedis();
  expect(await next.command("PING")).toBe("PONG");
  await next.stop();
});
