import type { AuditStream } from "../effects.ts";
import type { Route } from "../route.ts";
import { assessmentRoutes } from "./assessments.ts";
import { formbridgeRoutes } from "./formbridge.ts";
import { formRoutes } from "./forms.ts";
import { leadRoutes } from "./leads.ts";

/** All routes of the service, after the five documents that Onceward came from. */
export const serviceRoutes = (audit: AuditStream): readonly Route[] =>
  [...formbridgeRoutes(audit), ...formRoutes, ...leadRoutes, ...assessmentRoutes].map(answering);

/** What goes wrong is said the same way by all three frameworks. */
const answering = (route: Route): Route => ({
  ...route,
  async handle(request) {
    try {
      return await route.handle(request);
    } catch (error) {
      return { status: 500, body: { error: (error as Error).message } };
    }
  },
});
