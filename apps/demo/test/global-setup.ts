import { chromiumBinary } from "@onceward/test-servers";
import type { TestProject } from "vitest/node";
import type { Framework } from "../src/shared/messages.ts";
import { startPlaygroundProcess } from "./playground-process.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** A playground on the memory store, for tests that neither break it nor change its store. */
    readonly playground: { readonly url: string; readonly addresses: Readonly<Record<Framework, string>> };
    readonly chromium: { readonly path: string } | { readonly problem: string };
  }
}

/**
 * Installs a browser if need be, and starts the playground that most tests share. It never fails, or no test of the whole
 * repository would run: those that need what is missing say so.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const [chromium, playground] = await Promise.allSettled([chromiumBinary(), startPlaygroundProcess()]);
  project.provide(
    "chromium",
    chromium.status === "fulfilled" ? { path: chromium.value } : { problem: String(chromium.reason) },
  );
  if (playground.status === "rejected") {
    const nowhere = `http://${playground.reason}`;
    project.provide("playground", { url: nowhere, addresses: { express: nowhere, fastify: nowhere, hono: nowhere } });
    return async () => {};
  }
  const { url, addresses, stop } = playground.value;
  project.provide("playground", { url, addresses });
  return async () => {
    await stop();
  };
}
