import { chromiumBinary } from "@onceward/test-servers";
import type { TestProject } from "vitest/node";
import type { Framework } from "../src/shared/messages.ts";
import { startPlaygroundProcess } from "./playground-process.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** A playground on the memory store, for tests that neither break it nor change its store. */
    readonly playground: { readonly url: string; readonly addresses: Readonly<Record<Framework, string>> };
    readonly chromium: string;
  }
}

/** Installs a browser if need be, and starts the playground that most tests share. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const [chromium, playground] = await Promise.all([chromiumBinary(), startPlaygroundProcess()]);
  project.provide("chromium", chromium);
  project.provide("playground", { url: playground.url, addresses: playground.addresses });
  return async () => {
    await playground.stop();
  };
}
