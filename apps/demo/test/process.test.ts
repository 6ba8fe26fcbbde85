import { request } from "node:http";
import { createServer } from "node:net";
import { eventually } from "@onceward/test-servers";
import type { Page } from "playwright-core";
import { describe, inject, it, type TestContext } from "vitest";
import { useBrowser } from "./browser.ts";
import { type PlaygroundProcess, type StartOptions, startPlaygroundProcess } from "./playground-process.ts";

const { open } = useBrowser();

async function start(context: TestContext, options: StartOptions = {}): Promise<PlaygroundProcess> {
  const playground = await startPlaygroundProcess(options);
  context.onTestFinished(() => {
    playground.child.kill("SIGKILL");
  });
  return playground;
}

/** The ids of the service processes, as the page shows them. */
async function servicePids(page: Page): Promise<number[]> {
  const text = (await page.locator(".processes").textContent()) ?? "";
  return [...text.matchAll(/\((\d+)\)/g)].map(([, id]) => Number(id));
}

const lives = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe.concurrent("pnpm demo", () => {
  it("leaves nothing behind when it is killed", async (context) => {
    const playground = await start(context);
    const pids = await servicePids(await open(context, playground.url, {}, /ERR_/));
    playground.child.kill("SIGKILL");
    await eventually(() => !pids.some(lives), { what: "the service processes end" });
  });

  it("says so when its port is busy, takes the next free one, and leaves nothing behind after Ctrl-C", async (context) => {
    const { expect } = context;
    const stranger = createServer();
    const busy = await new Promise<number>((resolve) => {
      stranger.listen(0, "127.0.0.1", () => resolve((stranger.address() as { port: number }).port));
    });
    context.onTestFinished(() => void stranger.close());
    const playground = await start(context, { port: busy });
    expect(playground.output()).toContain(`Port ${busy} is busy`);
    expect(playground.url).not.toBe(`http://localhost:${busy}`);

    const page = await open(context, playground.url, {}, /ERR_/);
    const pids = await servicePids(page);
    expect(pids).toHaveLength(2);
    expect(pids.every(lives)).toBe(true);
    expect(await playground.stop()).toBe(0);
    expect(pids.filter(lives)).toEqual([]);
    await expect(fetch(playground.url)).rejects.toThrow();
    await page.getByText("The playground has ended.").waitFor();
  });

  it("says on the page and on the console when a server can't be reached, and goes on with the store it has", async (context) => {
    const { expect } = context;
    const nobody = "127.0.0.1:1";
    const playground = await start(context, {
      env: { REDIS_URL: `redis://:secret@${nobody}`, DATABASE_URL: `postgres://postgres:secret@${nobody}/postgres` },
    });
    const page = await open(context, playground.url, {}, /status of 500/);
    for (const store of ["redis", "postgres"]) {
      await page.locator(`input[value=${store}]`).click({ force: true });
      const note = new RegExp(`No ${store} .*${nobody}.*(REDIS|DATABASE)_URL`, "i");
      await expect.poll(() => page.locator(".switch-notes").textContent(), { timeout: 10_000 }).toMatch(note);
      expect(playground.output()).toMatch(note);
    }
    expect(playground.output()).not.toContain("secret");
    expect(await page.locator("input[value=memory]").isChecked()).toBe(true);
  });

  it("says what is missing when there is no server to be found", async (context) => {
    const { expect } = context;
    const playground = await start(context, { env: { PATH: "", POSTGRES_BIN: "/nowhere" } });
    const page = await open(context, playground.url);
    expect(await page.locator("input[value=redis]").isDisabled()).toBe(true);
    expect(await page.locator("input[value=postgres]").isDisabled()).toBe(true);
    const notes = await page.locator(".switch-notes").textContent();
    expect(notes).toContain("Redis is not here. Set REDIS_URL, or install redis-server, and start again.");
    expect(notes).toContain("Postgres is not here. Set DATABASE_URL, or install Postgres and set POSTGRES_BIN");
  });

  it("serves this machine only", async ({ expect }) => {
    const { port } = new URL(inject("playground").url);
    const status = await new Promise<number | undefined>((resolve) => {
      request({ host: "127.0.0.1", port, headers: { host: "evil.example" } }, (answer) =>
        resolve(answer.statusCode),
      ).end();
    });
    expect(status).toBe(403);
  });
});
