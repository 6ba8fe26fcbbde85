import { randomUUID } from "node:crypto";
import type { Scene } from "./scene.ts";

/** Closed or open: what to do when nobody can know. */
export const outage: Scene = {
  id: "outage",
  title: "The store is down",
  story:
    "The connection to the store is cut. FormBridge fails closed: it refuses, and the client tries later. The leads service fails open: it would rather risk a duplicate than lose a lead. Then the store is back, and both clients try again.",
  moral:
    "Closed: 503 with Retry-After, and the retry ran. Open: the lead was taken at once; its outcome reached the store when that was back, in time for the retry.",
  by: "server",
  counts: "records",
  expected: { with: 2, without: 4 },
  async play(stage) {
    const closed = {
      path: "/api/intakes/access-request/submit",
      headers: { "Idempotency-Key": `idem_${randomUUID()}` },
      body: { fields: { system: "Payroll" } },
      to: "A",
    } as const;
    const open = {
      path: "/api/leads",
      headers: { "X-Idempotency-Key": randomUUID() },
      body: { name: "John Doe", email: "john@example.com" },
      to: "A",
    } as const;
    stage.cutStore();
    await Promise.all([stage.send(closed), stage.send(open)]);
    stage.mendStore();
    // What ran without the store is completed there once it is back.
    await stage.event("completed");
    await stage.send(closed);
    await stage.send(open);
  },
};
