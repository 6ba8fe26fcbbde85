import { randomUUID } from "node:crypto";
import type { Scene } from "./scene.ts";

/** One client bug, three policies. */
export const otherData: Scene = {
  id: "other-data",
  title: "Same key, other data",
  story:
    "A client uses a key again for something else. Three services answer in three ways, each by one option: FormBridge refuses, the form broker returns its first answer, the leads service takes it for a new lead.",
  moral:
    "One bug, three answers, each the service's own choice: 409 Conflict, the first answer once more, and a second lead.",
  by: "server",
  counts: "records",
  expected: { with: 4, without: 6 },
  async play(stage) {
    const key = randomUUID();
    const services = [
      {
        path: "/api/intakes/access-request/submit",
        headers: { "Idempotency-Key": key },
        bodies: [{ fields: { companyName: "Acme" } }, { fields: { companyName: "Evil Corp" } }],
      },
      {
        path: "/api/forms/test-form/submit",
        headers: { "Idempotency-Key": key },
        bodies: [{ formData: { name: "Jane Doe" } }, { formData: { name: "DIFFERENT NAME" } }],
      },
      {
        path: "/api/leads",
        headers: { "X-Idempotency-Key": key },
        bodies: [{ name: "Test" }, { name: "Test2" }],
      },
    ];
    for (const { bodies, ...request } of services) {
      for (const body of bodies) await stage.send({ ...request, body });
    }
  },
};
