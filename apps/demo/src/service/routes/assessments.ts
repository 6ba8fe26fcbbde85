import { dialects } from "@onceward/core";
import type { Route } from "../route.ts";

/** The mobile app's assessments: keys belong to a user, and only saved answers are compared. */
export const assessmentRoutes: readonly Route[] = [
  write("", { fingerprint: false, prefix: "assessment", status: 201 }),
  write("/:assessmentId/answers/save", { fingerprint: true, prefix: "answer", status: 200 }),
  write("/:assessmentId/steps/:stepId/validate", { fingerprint: false, prefix: "validation", status: 200 }),
  write("/:assessmentId/complete", { fingerprint: false, prefix: "completion", status: 200 }),
];

interface Write {
  /** The document's "payload check". */
  readonly fingerprint: boolean;
  readonly prefix: string;
  readonly status: number;
}

function write(path: string, { fingerprint, prefix, status }: Write): Route {
  return {
    method: "POST",
    path: `/api/funnels/:slug/assessments${path}`,
    idempotency: (facts) => ({
      ...dialects.mobile,
      fingerprint,
      // A real app would take the user from the session.
      scope: (request) => facts(request).header("X-User-Id") ?? "guest",
    }),
    async handle({ params, body, effects }) {
      const id = await effects.record(prefix, `${prefix} in ${params["slug"]}`);
      return { status, body: { success: true, data: { id, ...params, ...body } } };
    },
  };
}
