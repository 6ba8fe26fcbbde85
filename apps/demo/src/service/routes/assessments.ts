import type { HttpOptions } from "@onceward/core";
import { keepDeterministic } from "@onceward/core";
import type { RequestFacts, Route, ServiceRequest } from "../route.ts";

/** The mobile app's assessments: keys belong to a user, and only saved answers are compared. */
export const assessmentRoutes: readonly Route[] = [
  write("", { payloadCheck: false, prefix: "assessment", status: 201 }),
  write("/:assessmentId/answers/save", { payloadCheck: true, prefix: "answer", status: 200 }),
  write("/:assessmentId/steps/:stepId/validate", { payloadCheck: false, prefix: "validation", status: 200 }),
  write("/:assessmentId/complete", { payloadCheck: false, prefix: "completion", status: 200 }),
];

interface Write {
  readonly payloadCheck: boolean;
  readonly prefix: string;
  readonly status: number;
}

function write(path: string, { payloadCheck, prefix, status }: Write): Route {
  return {
    method: "POST",
    path: `/api/funnels/:slug/assessments${path}`,
    idempotency: (facts) => ({
      ...assessmentOptions(facts),
      ...(payloadCheck ? {} : { fingerprint: false as const }),
    }),
    async handle({ params, body, effects }: ServiceRequest) {
      const id = await effects.record(prefix, `${prefix} in ${params["slug"]}`);
      return { status, body: { success: true, data: { id, ...params, ...body } } };
    },
  };
}

function assessmentOptions<Request>(facts: (request: Request) => RequestFacts): HttpOptions<Request> {
  return {
    // A real app would take it from the session.
    scope: (request) => facts(request).header("X-User-Id") ?? "guest",
    keep: keepDeterministic,
    replay: { replayedHeader: "X-Idempotency-Cached" },
    statuses: { ERR_KEY_REUSED: 409 },
  };
}
