import { setTimeout as sleep } from "node:timers/promises";
import { dialects } from "@onceward/core";
import type { Route } from "../route.ts";

const WORK_MS = 400;

/** The form broker: keys come from context and form data unless the client brings its own. */
export const formRoutes: readonly Route[] = [
  {
    method: "POST",
    path: "/api/forms/:formId/submit",
    idempotency: (facts) => ({
      ...dialects.formBroker,
      scope: (request) => facts(request).params["formId"] ?? "",
    }),
    async handle({ params, body, effects }) {
      const { formId } = params;
      await sleep(WORK_MS);
      const leadId = await effects.record("00Q", `Lead from ${formId}`);
      const recordId = leadId.replace("00Q", "a0B");
      await effects.mail(`"Thank you for ${formId}"`);
      return {
        status: 200,
        body: {
          success: true,
          recordId,
          businessRecordIds: [{ id: leadId, objectType: "Lead" }],
          relationshipIds: [leadId.replace("00Q", "a0C")],
          contextId: body["contextId"],
          message: "Form submitted successfully",
        },
      };
    },
  },
];
