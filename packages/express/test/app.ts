import type { AddressInfo } from "node:net";
import { type Onceward, onceward, type PolicyOptions } from "@onceward/core";
import { memoryStore } from "@onceward/store-memory";
import type { Express } from "express";
import { onTestFinished } from "vitest";

/** A Onceward for one test. */
export function testOnce(options: PolicyOptions = {}): Onceward {
  const once = onceward({ store: memoryStore(), ...options });
  onTestFinished(() => once.close({ drainMs: 100 }));
  return once;
}

/** Puts an app on the wire for one test. */
export async function listen(app: Express): Promise<{ url: string; port: number }> {
  const server = await new Promise<ReturnType<Express["listen"]>>((resolve) => {
    const started = app.listen(0, "127.0.0.1", () => resolve(started));
  });
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port };
}

/** Sends a request with a key, and reads the answer as bytes. */
export async function post(url: string, key: string, init: RequestInit = {}) {
  const response = await fetch(url, {
    method: "POST",
    redirect: "manual",
    ...init,
    headers: { "idempotency-key": key, ...(init.headers as Record<string, string> | undefined) },
  });
  const body = Buffer.from(await response.arrayBuffer());
  const { status, headers } = response;
  return { status, headers, body, text: body.toString(), replayed: headers.get("idempotent-replayed") === "true" };
}
