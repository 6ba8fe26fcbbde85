import type { Effect } from "../shared/messages.ts";

/**
 * The world outside the service, as a request sees it: a database and a mail provider. They live in the playground's
 * main process, so that a service process that is killed leaves behind what it had done.
 */
export interface Effects {
  /** Creates a record; resolves with its id, such as `sub_001`. */
  record(prefix: string, what: string): Promise<string>;
  /** "Sends" a mail. */
  mail(what: string): Promise<string>;
}

/** An event of FormBridge's audit stream (section 7.3 of its design). */
export interface AuditEvent {
  readonly eventId: string;
  readonly submissionId: string;
  readonly type: "submission.submitted" | "submission.replayed";
  readonly timestamp: string;
  readonly actor: { readonly type: "agent" | "human"; readonly id: string };
  readonly payload: Readonly<Record<string, unknown>>;
}

/** FormBridge's audit stream. It numbers events, and the replays of a submission. */
export interface AuditStream {
  submitted(submissionId: string): Promise<void>;
  replayed(submissionId: string, key: string): Promise<void>;
  of(submissionId: string): Promise<readonly AuditEvent[]>;
}

/** Where an effect comes from. */
export type EffectOrigin = Pick<Effect, "side" | "run">;
