import type { Store, StoredRecord } from "@onceward/core";
import type { OperatorRecord, StoreStats } from "../shared/messages.ts";

const LISTED = 50;
const COUNTED = 10_000;
const steps: readonly [label: string, belowMs: number][] = [
  ["under 10 s", 10_000],
  ["under 1 min", 60_000],
  ["under 10 min", 600_000],
  ["older", Number.POSITIVE_INFINITY],
];

/** What an operator sees of a record: all but the outcome. */
export function asOperatorRecord({ outcome, fingerprint, completedAt, ...record }: StoredRecord): OperatorRecord {
  return record;
}

/** The records in a state, or all, youngest first. */
export async function listRecords(store: Store, state: StoredRecord["state"] | undefined): Promise<OperatorRecord[]> {
  const found: OperatorRecord[] = [];
  for await (const record of store.list?.({ state, limit: COUNTED }) ?? []) found.push(asOperatorRecord(record));
  return found.sort((one, other) => other.claimedAt - one.claimedAt).slice(0, LISTED);
}

/** How many records there are, and how old. */
export async function storeStats(store: Store): Promise<StoreStats> {
  const counts = steps.map(() => 0);
  let size = 0;
  let running = 0;
  for await (const { state, claimedAt } of store.list?.({ limit: COUNTED }) ?? []) {
    size += 1;
    if (state === "running") running += 1;
    const step = steps.findIndex(([, belowMs]) => Date.now() - claimedAt < belowMs);
    counts[step] = (counts[step] ?? 0) + 1;
  }
  return { size, running, ages: steps.map(([label], index) => ({ label, count: counts[index] ?? 0 })) };
}
