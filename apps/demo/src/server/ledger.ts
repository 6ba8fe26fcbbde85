import type { AuditEvent } from "../service/effects.ts";
import type { Effect } from "../shared/messages.ts";
import type { Handler } from "../shared/rpc.ts";

/** What really happened: the database, the mail provider and the audit stream of the service. */
export interface Ledger {
  /** The service processes' way in. */
  readonly handlers: Readonly<Record<string, Handler>>;
}

/** An empty ledger; `onEffect` hears of everything that happens from now on. */
export function createLedger(onEffect: (effect: Effect) => void): Ledger {
  const counters = new Map<string, number>();
  const streams = new Map<string, AuditEvent[]>();
  const actor = { type: "agent", id: "agent_playground" } as const;

  const nextId = (prefix: string): string => {
    const count = (counters.get(prefix) ?? 0) + 1;
    counters.set(prefix, count);
    return `${prefix}_${String(count).padStart(3, "0")}`;
  };
  const audit = (event: Omit<AuditEvent, "timestamp" | "actor">) => {
    const stream = streams.get(event.submissionId) ?? [];
    streams.set(event.submissionId, [...stream, { ...event, timestamp: new Date().toISOString(), actor }]);
  };

  return {
    handlers: {
      "ledger.append": ([given, prefix]) => {
        const id = nextId(prefix as string);
        onEffect({ ...(given as Omit<Effect, "id" | "at">), id, at: Date.now() });
        return id;
      },
      "audit.submitted": ([id]) => {
        const submissionId = id as string;
        audit({ eventId: nextId("evt_submit"), submissionId, type: "submission.submitted", payload: {} });
      },
      "audit.replayed": ([id, idempotencyKey]) => {
        const submissionId = id as string;
        const stream = streams.get(submissionId) ?? [];
        const original = stream.find(({ type }) => type === "submission.submitted");
        // The document's first replay, evt_replay_001, has number 2: the original counts as the first.
        const replayNumber = 2 + stream.filter(({ type }) => type === "submission.replayed").length;
        const payload = { idempotencyKey, originalEventId: original?.eventId, replayNumber };
        audit({ eventId: nextId("evt_replay"), submissionId, type: "submission.replayed", payload });
      },
      "audit.of": ([submissionId]) => streams.get(submissionId as string) ?? [],
    },
  };
}
