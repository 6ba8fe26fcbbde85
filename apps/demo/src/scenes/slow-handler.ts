import { randomUUID } from "node:crypto";
import type { Scene } from "./scene.ts";

/** A lock that expires under a running handler lets a second one in. A lease is renewed. */
export const slowHandler: Scene = {
  id: "slow-handler",
  title: "Slower than its lease",
  story:
    "The check takes 1.6 seconds, and its lease is for 0.9 (instead of 10, so that you needn't wait). A duplicate comes when the lease would be over.",
  moral: "The lease was renewed while the work ran, every tick in its bar, so nobody took the key away.",
  by: "server",
  counts: "submissions",
  expected: { with: 1, without: 2 },
  async play(stage) {
    const request = {
      path: "/api/intakes/background-check/submit",
      headers: { "Idempotency-Key": `idem_${randomUUID()}` },
      body: { fields: { fullName: "Ada Lovelace" } },
    };
    const first = stage.send({ ...request, to: "A" });
    await stage.event("claimed");
    await stage.pause(1_100);
    await Promise.all([first, stage.send({ ...request, to: "B" })]);
  },
};
