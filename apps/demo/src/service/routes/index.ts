import type { AuditStream } from "../effects.ts";
import type { Route } from "../route.ts";
import { assessmentRoutes } from "./assessments.ts";
import { formbridgeRoutes } from "./formbridge.ts";
import { formRoutes } from "./forms.ts";
import { leadRoutes } from "./leads.ts";

/** All routes of the service, after the five documents that Onceward came from. */
export const serviceRoutes = (audit: AuditStream): readonly Route[] => [
  ...formbridgeRoutes(audit),
  ...formRoutes,
  ...leadRoutes,
  ...assessmentRoutes,
];
