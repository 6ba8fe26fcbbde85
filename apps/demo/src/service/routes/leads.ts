import { setTimeout as sleep } from "node:timers/promises";
import type { Route } from "../route.ts";

const WORK_MS = 100;

/** Leads: a UUID is required, other data under the same key is another lead, and a lost store stops nobody. */
export const leadRoutes: readonly Route[] = [
  {
    method: "POST",
    path: "/api/leads",
    idempotency: () => ({
      scope: "shared",
      header: "X-Idempotency-Key",
      keyFormat: "uuidv4",
      required: true,
      ttlMs: 300_000,
      onReuse: "separate",
      failOpen: true,
    }),
    async handle({ body, effects }) {
      await sleep(WORK_MS);
      const id = await effects.record("lead", `lead ${String(body["name"] ?? "")}`);
      await effects.mail(`"New lead ${id}"`);
      return { status: 201, body: { status: "success", id } };
    },
  },
];
