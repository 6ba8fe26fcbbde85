import type { RequestTrace } from "../shared/messages.ts";

/** In the order in which summaries name them. */
export const roles = ["ran", "waited", "replayed", "refused", "gave-up", "cut-off", "waiting", "open"] as const;
/** What became of a request. */
export type Role = (typeof roles)[number];

/** Words for a role, as in "2 ran". */
export const roleWords: Record<Role, string> = {
  ran: "ran",
  waiting: "waiting",
  waited: "waited, replayed",
  replayed: "replayed",
  refused: "refused",
  "gave-up": "client gave up",
  "cut-off": "cut off",
  open: "under way",
};

/** What became of a request so far. */
export function roleOf({ fate, marks, status }: RequestTrace): Role {
  if (fate === "gave-up" || fate === "cut-off") return fate;
  const has = (type: string) => marks.some((mark) => mark.type === type);
  if (has("replayed")) return has("waiting") ? "waited" : "replayed";
  if (fate === "open") return has("waiting") && !has("claimed") ? "waiting" : "open";
  return (status ?? 0) >= 400 ? "refused" : "ran";
}

/** A duration for people. */
export function duration(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
