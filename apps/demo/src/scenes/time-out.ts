import { randomUUID } from "node:crypto";
import type { Scene } from "./scene.ts";

/** The client can't know whether its first request arrived. */
export const timeOut: Scene = {
  id: "time-out",
  title: "Time-out and retry",
  story:
    "The network is slow, the client gives up waiting and sends the same request again. It can't know that the first one is being worked on.",
  moral:
    "The work went on without its client. The retry found it under its key, waited for the rest and got its answer.",
  by: "server",
  counts: "submissions",
  expected: { with: 1, without: 2 },
  async play(stage) {
    const request = {
      path: "/api/intakes/vendor-onboarding/submit",
      headers: { "Idempotency-Key": `idem_${randomUUID()}` },
      body: { fields: { companyName: "Acme Corp" } },
    };
    await stage.send({ ...request, giveUp: stage.records(1) });
    await stage.send(request);
  },
};
