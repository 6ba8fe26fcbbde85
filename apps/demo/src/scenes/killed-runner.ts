import { randomUUID } from "node:crypto";
import type { Scene } from "./scene.ts";

/** SIGKILL in the middle of the work. */
export const killedRunner: Scene = {
  id: "killed-runner",
  title: "Killed in the middle",
  story:
    "Process A has created the record and is about to send the mail when it is killed (a real process, with SIGKILL). The client tries again, at process B.",
  moral:
    "B waited until A's lease ran out, took over as attempt 2, skipped the step that A had recorded and did the rest. Without, the record exists twice.",
  by: "server",
  counts: "submissions",
  expected: { with: 1, without: 2 },
  async play(stage) {
    const request = {
      path: "/api/intakes/background-check/submit",
      headers: { "Idempotency-Key": `idem_${randomUUID()}` },
      body: { fields: { fullName: "Grace Hopper" } },
    };
    const first = stage.send({ ...request, to: "A" });
    await Promise.all([stage.records(1), stage.event("step")]);
    await stage.pause(400);
    await stage.kill("A");
    await first;
    await stage.send({ ...request, to: "B" });
  },
};
