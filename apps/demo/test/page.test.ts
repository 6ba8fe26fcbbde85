import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { describe, inject, it } from "vitest";
import { choose, screenshot, useBrowser } from "./browser.ts";

const { open } = useBrowser();
const { url } = inject("playground");
const readmePicture = fileURLToPath(new URL("../../../docs/images/playground.png", import.meta.url));
const axeScript = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** What axe-core finds wrong, by rule and element. */
async function accessibilityProblems(page: Page): Promise<string[]> {
  await page.addScriptTag({ path: axeScript });
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(): Promise<{ violations: AxeViolation[] }> } };
    interface AxeViolation {
      readonly id: string;
      readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[];
    }
    const { violations } = await axe.run();
    return violations.flatMap(({ id, nodes }) =>
      nodes.map((node) => `${id}: ${node.target.join(" ")} ${node.failureSummary}`),
    );
  });
}

async function playSomething(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Same key, other data" }).click();
  await page.getByRole("button", { name: "Play the scene" }).click();
  await page.locator(".stage[data-state=done]").waitFor();
  await page.getByRole("button", { name: "List all" }).click();
  await page.locator("tr[data-record]").first().waitFor();
}

const desktop = { width: 1280, height: 900 };
const phone = { width: 390, height: 844 };

// Each has a page of its own; they share the playground, and what they do to it doesn't concern the others.
describe.concurrent.each([
  { name: "desktop-light", viewport: desktop, colorScheme: "light" },
  { name: "desktop-dark", viewport: desktop, colorScheme: "dark" },
  { name: "phone-light", viewport: phone, colorScheme: "light" },
  { name: "phone-dark", viewport: phone, colorScheme: "dark" },
] as const)("the page, $name", ({ name, viewport, colorScheme }) => {
  it("is accessible and fits the screen, before and after a scene", async (context) => {
    const { expect } = context;
    const page = await open(context, url, { viewport, colorScheme, bypassCSP: true });
    expect(await accessibilityProblems(page)).toEqual([]);
    await playSomething(page);
    await screenshot(page, `page-${name}`, true);
    expect(await accessibilityProblems(page)).toEqual([]);
    const tooWide = await page.locator("html").evaluate((html) => html.scrollWidth - html.clientWidth);
    expect(tooWide).toBe(0);
  });
});

describe.concurrent("the page", () => {
  it("looks as in the README", async (context) => {
    const page = await open(context, url, { deviceScaleFactor: 2 });
    await page.getByRole("button", { name: "Slower than its lease" }).click();
    await page.getByRole("button", { name: "Play the scene" }).click();
    await page.locator(".stage[data-state=done]").waitFor();
    await screenshot(page, "readme");
    // CI must not change the work tree.
    if (process.env["UPDATE_SCREENSHOT"]) await page.screenshot({ path: readmePicture });
    context.expect(existsSync(readmePicture)).toBe(true);
  });

  it("can be played by keyboard alone", async (context) => {
    const { expect } = context;
    const page = await open(context, url);
    await page.keyboard.press("Tab");
    expect(await page.locator(":focus").textContent()).toContain("Skip");
    await page.locator("input[value=express]").focus();
    await page.keyboard.press("ArrowRight");
    expect(await page.locator("input[value=fastify]").isChecked()).toBe(true);
    await page.getByRole("button", { name: "The key expires" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Play the scene" }).focus();
    await page.keyboard.press("Enter");
    await page.locator(".stage[data-state=done]").waitFor();
    expect(await page.locator(".counter[data-side=with] .number").textContent()).toBe("2");
  });

  it("loads nothing from elsewhere", async (context) => {
    const { expect } = context;
    const page = await open(context, url);
    const hosts = await page.evaluate(() =>
      performance.getEntriesByType("resource").map(({ name }) => new URL(name).host),
    );
    expect(new Set(hosts)).toEqual(new Set([new URL(url).host]));
  });

  it("shows a request and its response raw, the replay of it, and the curl line", async (context) => {
    const { expect } = context;
    const page = await open(context, url, {}, /status of 409/);
    await choose(page, "hono");
    const raw = page.locator(".raw pre");
    const send = page.locator("#request button[type=submit]");
    await send.click();
    await expect.poll(() => raw.nth(1).textContent()).toContain("HTTP/1.1 201 Created");
    expect(await raw.nth(0).textContent()).toMatch(
      /^POST \/api\/intakes\/vendor-onboarding\/submit HTTP\/1.1\nHost: localhost:\d+\n/,
    );
    await send.click();
    await expect.poll(() => raw.nth(1).textContent()).toMatch(/HTTP\/1.1 200 OK(.|\n)*idempotent-replayed: true/);
    const curl = await raw.nth(2).textContent();
    expect(curl).toContain(
      `curl -i -X POST ${inject("playground").addresses.hono}/api/intakes/vendor-onboarding/submit`,
    );
    await page.getByLabel("Body").fill('{"fields":{"companyName":"Evil Corp"}}');
    await send.click();
    await expect.poll(() => raw.nth(1).textContent()).toContain("HTTP/1.1 409 Conflict");
  });

  it("tells of events with masked keys, and counts hits, keys and latencies", async (context) => {
    const { expect } = context;
    const page = await open(context, url);
    const key = `idem_${crypto.randomUUID()}`;
    await page.getByLabel("Idempotency-Key").fill(key);
    const send = page.locator("#request button[type=submit]");
    await send.click();
    await expect.poll(() => page.locator(".raw pre").nth(1).textContent()).toContain("201");
    await send.click();
    const masked = `${key.slice(0, 4)}****${key.slice(-4)}`;
    await page.locator(".event.replayed", { hasText: masked }).waitFor();
    expect(await page.locator("#live").textContent()).not.toContain(key);
    await expect.poll(() => page.locator(".figure .number").first().textContent()).toMatch(/^\d+ %$/);
    await expect
      .poll(async () => Number(await page.locator(".figure .number").nth(1).textContent()))
      .toBeGreaterThan(0);
    expect(await page.locator("figcaption").textContent()).toMatch(/new \d.* replayed \d/);
  });

  it("shows the code for the scene, the framework and the store", async (context) => {
    const { expect } = context;
    const page = await open(context, url);
    await choose(page, "fastify");
    await page.getByRole("button", { name: "Killed in the middle" }).click();
    const code = await page.locator("#code pre").textContent();
    expect(code).toContain('import { idempotency } from "@onceward/fastify"');
    expect(code).toContain("memoryStore()");
    expect(code).toContain("request.idempotency.step(");
  });

  it("lets an operator look a key up, see what runs, release and remove it", async (context) => {
    const { expect } = context;
    // The runner whose record was released can't finish.
    const page = await open(context, url, {}, /status of 500/);
    const key = `idem_${crypto.randomUUID()}`;
    await page.locator("#request select").selectOption({ index: 5 });
    await page.getByLabel("Idempotency-Key").fill(key);
    await page.locator("#request button[type=submit]").click();
    await page.locator(".event.claimed", { hasText: key.slice(-4) }).waitFor();
    await page.locator("#operator input").fill(key);
    await page.getByRole("button", { name: "Look up" }).click();
    const row = page.locator("tr[data-record]");
    await expect.poll(() => row.textContent()).toContain("running");
    await page.getByRole("button", { name: "Release" }).click();
    await page.getByText("Looked up: nothing.").waitFor();
    // It was released under its runner: the next attempt runs.
    await page.locator("#request button[type=submit]").click();
    await expect.poll(() => page.locator(".raw pre").nth(1).textContent()).toContain("HTTP/1.1 201");
    await page.getByRole("button", { name: "Look up" }).click();
    await expect.poll(() => row.textContent()).toContain("completed");
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByText("Looked up: nothing.").waitFor();
  });
});
