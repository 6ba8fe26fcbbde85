import { setTimeout as sleep } from "node:timers/promises";
import { dialects } from "@onceward/core";
import type { Route } from "../route.ts";

const WORK_MS = 100;

/** Leads: a UUID is required, other data under the same key is another lead, and a lost store stops nobody. */
export const leadRoutes: readonly Route[] = [
  {
    method: "POST",
    path: "/api/leads",
    idempotency: () => ({ ...dialects.leads, scope: "shared" }),
    async handle({ body, effects }) {
      await sleep(WORK_MS);
      const id = await effects.record("lead", `lead ${String(body["name"] ?? "")}`);
      await effects.mail(`"New lead ${id}"`);
      return { status: 201, body: { status: "success", id } };
    },
  },
];
