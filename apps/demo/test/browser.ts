import { fileURLToPath } from "node:url";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, inject, type TestContext } from "vitest";
import type { Framework, StoreKind } from "../src/shared/messages.ts";

/** Where the screenshots are kept; not committed. */
const artifacts = fileURLToPath(new URL("../artifacts", import.meta.url));

/** A page, and what it complained of on the console. */
export interface WatchedPage {
  readonly page: Page;
  readonly complaints: readonly string[];
  close(): Promise<void>;
}

/** A browser for all tests of a file. */
export function useBrowser() {
  let browser: Browser | undefined;
  beforeAll(async () => {
    const found = inject("chromium");
    if ("problem" in found) throw new Error(found.problem);
    // Root can't use Chromium's sandbox; the page is our own.
    browser = await chromium.launch({ executablePath: found.path, args: ["--no-sandbox"] });
  });
  afterAll(() => browser?.close());

  /** `expected`: what the browser may say, because the test provokes it. */
  async function watch(url: string, options: BrowserContextOptions = {}, expected?: RegExp): Promise<WatchedPage> {
    const context = await browser!.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("console", (message) => {
      const text = message.text();
      if (["error", "warning"].includes(message.type()) && !expected?.test(text)) complaints.push(text);
    });
    await page.goto(url);
    await page.getByRole("button", { name: "Double click" }).waitFor();
    return { page, complaints, close: () => context.close() };
  }

  return {
    watch,
    /** A page for one test, which fails when the page complains. */
    async open({ expect, onTestFinished }: TestContext, ...args: Parameters<typeof watch>): Promise<Page> {
      const { page, complaints, close } = await watch(...args);
      onTestFinished(async () => {
        await close();
        expect(complaints).toEqual([]);
      });
      return page;
    },
  };
}

/** Chooses what serves, as a visitor does. */
export async function choose(page: Page, framework: Framework, store?: StoreKind): Promise<void> {
  await radio(page, framework).check({ force: true });
  if (store === undefined) return;
  await radio(page, store).check({ force: true });
  // The server confirms it.
  await page.locator(".switch-notes p", { hasText: new RegExp(`^${store}: `, "i") }).waitFor({ timeout: 60_000 });
}

const radio = (page: Page, value: string) => page.locator(`input[type=radio][value=${value}]`);

/** Keeps a picture for people to look at. */
export async function screenshot(page: Page, name: string, fullPage = false): Promise<void> {
  await page.screenshot({ path: `${artifacts}/${name}.png`, fullPage });
}
