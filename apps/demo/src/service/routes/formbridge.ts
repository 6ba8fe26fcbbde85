import { setTimeout as sleep } from "node:timers/promises";
import { dialects } from "@onceward/core";
import type { AuditStream } from "../effects.ts";
import type { Reply, Route, ServiceRequest } from "../route.ts";

/** A form that can be handed in. */
interface Intake {
  readonly id: string;
  /** How long its outcomes are replayed (section 5.3: the intake overrides the default). */
  readonly ttlMs: number;
  /** How long handing in takes: a check of the sanctions list, say. */
  readonly workMs: number;
  /** How long after a crash the next attempt takes over; default 10 seconds. */
  readonly leaseMs?: number | undefined;
}

const DAY_MS = 24 * 3_600_000;

/** The intakes of the playground; times that a visitor would wait for are shortened. */
export const intakes: readonly Intake[] = [
  { id: "vendor-onboarding", ttlMs: DAY_MS, workMs: 400 },
  { id: "access-request", ttlMs: DAY_MS, workMs: 100 },
  { id: "background-check", ttlMs: DAY_MS, workMs: 1_600, leaseMs: 900 },
  { id: "flash-poll", ttlMs: 2_000, workMs: 100 },
];

/** FormBridge: create a submission, set its fields, hand it in; as its design document has it, and as its feature 008 has. */
export function formbridgeRoutes(audit: AuditStream): readonly Route[] {
  const routesOf = (intake: Intake): Route[] => {
    const idempotency: Route["idempotency"] = () => ({
      ...dialects.formBridgeDesign,
      // "Idempotency keys are scoped per intake definition, not globally" (section 6.1).
      scope: () => intake.id,
      ttlMs: intake.ttlMs,
      leaseMs: intake.leaseMs,
      // The document's ten are for busy services, and optional (section 4.3.3); one scene sends 25 to each process.
      maxWaiters: 100,
      transformReplay: async (response, { key }) => {
        const { submissionId } = JSON.parse(new TextDecoder().decode(response.body)) as { submissionId: string };
        await audit.replayed(submissionId, key);
        return response;
      },
    });
    const base = `/api/intakes/${intake.id}`;
    return [
      { method: "POST", path: `${base}/submit`, idempotency, handle: (request) => submit(intake, request, audit) },
      { method: "POST", path: `${base}/submissions`, idempotency, handle: (request) => create(intake.id, request) },
      { method: "PATCH", path: `${base}/submissions/:submissionId/fields`, idempotency, handle: setFields },
    ];
  };
  return [
    ...intakes.flatMap(routesOf),
    {
      method: "GET",
      path: "/api/submissions/:submissionId/events",
      handle: async ({ params }) => ({ status: 200, body: await audit.of(params["submissionId"] ?? "") }),
    },
    {
      method: "POST",
      path: "/api/feature-008/intakes/:intakeId/submissions",
      idempotency: (facts) => ({
        ...dialects.formBridgeFeature008,
        // "Composite key: {intake_id}:{user_id}:{idempotency_key}".
        scope: (request) => JSON.stringify([facts(request).params["intakeId"], facts(request).header("X-User-Id")]),
      }),
      handle: (request) => create(request.params["intakeId"] ?? "", request),
    },
  ];
}

async function submit(intake: Intake, request: ServiceRequest, audit: AuditStream): Promise<Reply> {
  const { idempotency, effects } = request;
  // Steps: an attempt that takes over from a process that died skips what that one had done.
  const submissionId = await idempotency.step("record", () => effects.record("sub", `submission to ${intake.id}`));
  await sleep(intake.workMs);
  await idempotency.step("mail", () => effects.mail(`"We received ${submissionId}"`));
  await audit.submitted(submissionId);
  return { status: 201, body: { ok: true, submissionId, state: "submitted" } };
}

async function create(intakeId: string, { effects }: ServiceRequest): Promise<Reply> {
  const submissionId = await effects.record("sub", `draft for ${intakeId}`);
  return { status: 201, body: { ok: true, submissionId, state: "draft" } };
}

async function setFields({ params, body, effects }: ServiceRequest): Promise<Reply> {
  const { submissionId } = params;
  const revisionId = await effects.record("rev", `fields of ${submissionId}`);
  return { status: 200, body: { ok: true, submissionId, revisionId, state: "draft", fields: body["fields"] } };
}
