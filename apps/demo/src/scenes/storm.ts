import { randomUUID } from "node:crypto";
import type { Scene } from "./scene.ts";

const DUPLICATES = 50;

/** Many at once, at both processes. */
export const storm: Scene = {
  id: "storm",
  title: "A storm of 50",
  story:
    "A queue goes mad and delivers one message fifty times in the same instant, to two processes that know nothing of each other.",
  moral: "One request ran, in one of the two processes. Forty-nine waited and got its answer, byte for byte.",
  by: "server",
  counts: "submissions",
  expected: { with: 1, without: DUPLICATES },
  async play(stage) {
    const request = {
      path: "/api/intakes/vendor-onboarding/submit",
      headers: { "Idempotency-Key": `idem_${randomUUID()}` },
      body: { fields: { companyName: "Acme Corp" } },
    };
    await Promise.all(Array.from({ length: DUPLICATES }, () => stage.send(request)));
  },
};
