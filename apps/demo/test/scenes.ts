import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { scenes } from "../src/scenes/index.ts";
import type { Scene } from "../src/scenes/scene.ts";
import type { Framework, StoreKind } from "../src/shared/messages.ts";
import { choose, screenshot, useBrowser } from "./browser.ts";
import { type PlaygroundProcess, startPlaygroundProcess } from "./playground-process.ts";

/** What must be seen in the timeline of the service, besides the right number of records. */
const seen: Readonly<Record<string, readonly string[]>> = {
  "double-click": ["ran", "waited"],
  "time-out": ["gave-up", "waited"],
  storm: ["ran", ...Array.from({ length: 49 }, () => "waited or replayed")],
  "other-data": ["ran", "ran", "ran", "ran", "refused", "replayed"],
  "slow-handler": ["ran", "waited"],
  "killed-runner": ["cut-off", "ran"],
  outage: ["ran", "ran", "refused", "replayed"],
  expiry: ["ran", "ran", "replayed"],
};

/** Plays scenes in the browser, on one framework and some stores; all of them on those of `everything`. */
export function testScenes(framework: Framework, everything: readonly StoreKind[], some: readonly StoreKind[]): void {
  const open = useBrowser();
  let playground: PlaygroundProcess | undefined;
  beforeAll(async () => {
    playground = await startPlaygroundProcess();
  });
  afterAll(() => playground?.stop());

  const plans = [
    ...everything.map((store) => ({ store, played: scenes })),
    ...some.map((store) => ({
      store,
      played: scenes.filter(({ id }) => ["storm", "killed-runner", "outage"].includes(id)),
    })),
  ];
  describe.each(plans)(`${framework} on $store`, ({ store, played }) => {
    it.each(played)("plays: $title", async (scene) => {
      const page = await open(playground!.url);
      await choose(page, framework, store);
      await play(page, scene);
      await screenshot(page, `${framework}-${store}-${scene.id}`);
      expect(await recordsOf(page)).toEqual(scene.expected);
      const roles = await rolesOf(page);
      const expected = seen[scene.id] ?? [];
      // Whether a duplicate found the work running or done is a matter of moments.
      const loose = expected.map((role) =>
        role.startsWith("waited") ? /^(waited|replayed)$/ : new RegExp(`^${role}$`),
      );
      expect(roles).toHaveLength(expected.length);
      for (const pattern of loose) {
        const found = roles.findIndex((role) => pattern.test(role));
        expect(found, `${pattern} among ${roles.join(", ")}`).toBeGreaterThanOrEqual(0);
        roles.splice(found, 1);
      }
    });
  });
}

async function play(page: Page, { title, by }: Scene): Promise<void> {
  await page.getByRole("button", { name: title }).click();
  if (by === "visitor") await page.getByRole("button", { name: "Send" }).first().dblclick();
  else await page.getByRole("button", { name: "Play the scene" }).click();
  await page.locator(".stage[data-state=done], .stage[data-state=failed]").waitFor({ timeout: 40_000 });
  const problem = page.locator(".stage [role=alert]");
  expect(await problem.allTextContents()).toEqual([]);
}

/** The counters, as the visitor sees them. */
async function recordsOf(page: Page): Promise<{ with: number; without: number }> {
  const count = async (side: string) => Number(await page.locator(`.counter[data-side=${side}] .number`).textContent());
  return { with: await count("with"), without: await count("without") };
}

const rolesOf = (page: Page) =>
  page
    .locator("[data-lane=with] [data-role]")
    .evaluateAll((rows) => rows.map((row) => row.getAttribute("data-role") ?? ""));
