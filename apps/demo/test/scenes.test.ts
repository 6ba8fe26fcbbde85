import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, it } from "vitest";
import { scenes } from "../src/scenes/index.ts";
import type { Scene } from "../src/scenes/scene.ts";
import type { Framework, StoreKind } from "../src/shared/messages.ts";
import { choose, screenshot, useBrowser, type WatchedPage } from "./browser.ts";
import { type PlaygroundProcess, startPlaygroundProcess } from "./playground-process.ts";

/** What must be seen in the timeline of the service, besides the right number of records. */
const seen: Readonly<Record<string, readonly string[]>> = {
  "double-click": ["ran", "waited"],
  "time-out": ["gave-up", "waited"],
  storm: ["ran", ...Array.from({ length: 49 }, () => "waited")],
  "other-data": ["ran", "ran", "ran", "ran", "refused", "replayed"],
  "slow-handler": ["ran", "waited"],
  "killed-runner": ["cut-off", "ran"],
  outage: ["ran", "ran", "refused", "replayed"],
  expiry: ["ran", "ran", "replayed"],
};

/** Those that say most about a store. */
const hardest = scenes.filter(({ id }) => ["storm", "killed-runner", "outage"].includes(id));

const everything: [StoreKind, readonly Scene[]][] = [
  ["memory", scenes],
  ["pglite", scenes],
];
const plans: readonly { framework: Framework; stores: readonly [StoreKind, readonly Scene[]][] }[] = [
  { framework: "express", stores: [...everything, ["redis", hardest]] },
  { framework: "fastify", stores: [...everything, ["postgres", hardest]] },
  { framework: "hono", stores: everything },
];

const { watch } = useBrowser();

// One playground for each framework, side by side; in each, one scene after the other.
describe.concurrent.each(plans)("scenes on $framework", ({ framework, stores }) => {
  let playground: PlaygroundProcess | undefined;
  beforeAll(async () => {
    playground = await startPlaygroundProcess();
  });
  afterAll(() => playground?.stop());

  describe.sequential.each(stores)("and %s", (store, played) => {
    let watched: WatchedPage | undefined;
    beforeAll(async () => {
      watched = await watch(playground!.url);
      await choose(watched.page, framework, store);
    });
    afterAll(() => watched?.close());

    it.sequential.for(played)("plays: $title", async (scene, { expect }) => {
      const { page, complaints } = watched!;
      await play(page, scene);
      await screenshot(page, `${framework}-${store}-${scene.id}`);
      expect(await page.locator(".stage [role=alert]").allTextContents()).toEqual([]);
      expect(await recordsOf(page)).toEqual(scene.expected);
      const roles = await rolesOf(page);
      const expected = seen[scene.id] ?? [];
      expect(roles).toHaveLength(expected.length);
      for (const role of expected) {
        // Whether a duplicate found the work running or done is a matter of moments.
        const found = roles.findIndex((one) => one === role || (role === "waited" && one === "replayed"));
        expect(found, `${role} among ${roles.join(", ")}`).toBeGreaterThanOrEqual(0);
        roles.splice(found, 1);
      }
      expect(complaints).toEqual([]);
    });
  });
});

async function play(page: Page, { title, by }: Scene): Promise<void> {
  await page.getByRole("button", { name: title }).click();
  if (by === "visitor") await page.getByRole("button", { name: "Send" }).first().dblclick();
  else await page.getByRole("button", { name: "Play the scene" }).click();
  await page.locator(".stage[data-state=done], .stage[data-state=failed]").waitFor({ timeout: 40_000 });
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
