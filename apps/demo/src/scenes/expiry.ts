import { randomUUID } from "node:crypto";
import type { Scene } from "./scene.ts";

/** Outcomes are kept for a time. */
export const expiry: Scene = {
  id: "expiry",
  title: "The key expires",
  story:
    "Outcomes are kept for a day; this poll keeps them for 2 seconds. A client sends the same request three times: the third when the first is forgotten.",
  moral: "The second was a replay. The third came too late and is a new submission, with a number of its own.",
  by: "server",
  counts: "submissions",
  expected: { with: 2, without: 3 },
  async play(stage) {
    const request = {
      path: "/api/intakes/flash-poll/submit",
      headers: { "Idempotency-Key": `idem_${randomUUID()}` },
      body: { fields: { answer: "yes" } },
    };
    await stage.send(request);
    await stage.send(request);
    await stage.pause(2_100);
    await stage.send(request);
  },
};
