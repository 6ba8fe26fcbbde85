import type { MemoryBackend, MemoryStore } from "@onceward/store-memory";
import type { Context } from "../../src/index.ts";
import type { follow } from "./world.ts";

/** One run of the work. */
export interface Run {
  readonly number: number;
  readonly caller: number;
  readonly process: number;
  readonly context: Context;
  /** What it gives: names the run and what was asked for. */
  readonly value: string;
}

/** A caller and what became of its call. */
export interface Answered {
  readonly caller: number;
  readonly process: number;
  readonly fingerprint: string;
  readonly answer: ReturnType<typeof follow<{ value: string; replayed: boolean }>>;
  /** The errors that are no surprise, by code or message. */
  readonly excused: readonly string[];
  /** False once time has passed or a call has failed: an answer may then come before the store has confirmed it. */
  readonly strict: boolean;
}

/** Watches a schedule, and throws when something happens that must never happen. */
export function createJudge(backend: MemoryBackend) {
  const runs: Run[] = [];
  const ended = new Set<Run>();
  const crashed = new Set<number>();
  const fences = new Map<string, number>();
  let highest = 0;
  let stalledUpTo = 0;
  let recordedBy = Number.POSITIVE_INFINITY;
  let completed: { readonly fence: number; readonly outcome: string } | undefined;

  const record = () => [...backend.records.values()][0];
  /** Kept until somebody looks: thrown inside a call of the store, it would pass for an outage. */
  let broken: string | undefined;
  const rule = (holds: boolean, otherwise: string) => {
    if (!holds) broken ??= otherwise;
  };
  /** The store took a write: only the latest claim may have one. */
  const wrote = (call: string, token: string) =>
    rule(fences.get(token) === highest, `a stale runner wrote: ${call} under ${fences.get(token)} after ${highest}`);
  /** In the middle of the work, and not told to stop. A pause of everybody excuses those who could not know. */
  const isLive = (run: Run) =>
    !ended.has(run) && !crashed.has(run.process) && !run.context.signal.aborted && run.context.fence > stalledUpTo;

  return {
    /** Sees what the store answers, when it does so. */
    watchStore: (store: MemoryStore): MemoryStore => ({
      ...store,
      async claim(id, request) {
        const result = await store.claim(id, request);
        if (result.state === "claimed") {
          rule(result.fence > highest || fences.get(request.token) === result.fence, "a fence that does not grow");
          fences.set(request.token, result.fence);
          highest = Math.max(highest, result.fence);
        }
        return result;
      },
      async complete(id, token, ...rest) {
        const kept = await store.complete(id, token, ...rest);
        if (kept) wrote("complete", token);
        return kept;
      },
      async release(id, token) {
        const released = await store.release(id, token);
        if (released) wrote("release", token);
        return released;
      },
      async renew(id, token, leaseMs) {
        const renewed = await store.renew(id, token, leaseMs);
        if (renewed) wrote("renew", token);
        return renewed;
      },
      async saveStep(id, token, ...rest) {
        const saved = await store.saveStep(id, token, ...rest);
        if (saved) {
          wrote("saveStep", token);
          recordedBy = Math.min(recordedBy, fences.get(token) ?? 0);
        }
        return saved;
      },
    }),
    started(parts: Omit<Run, "number" | "value"> & { readonly fingerprint: string; readonly gone: boolean }): Run {
      const { fingerprint, gone, ...rest } = parts;
      rule(!gone, `caller ${rest.caller} runs though its client has gone`);
      const run = { ...rest, number: runs.length, value: `<${runs.length} ${fingerprint}>` };
      runs.push(run);
      return run;
    },
    stepRuns(run: Run): string {
      rule(recordedBy >= run.context.fence, `run ${run.number} repeats a recorded step`);
      return "reserved";
    },
    ended: (run: Run) => void ended.add(run),
    crashed: (process: number) => void crashed.add(process),
    /** Claims so far may be over without their holders' knowing. */
    stalled() {
      stalledUpTo = highest;
    },
    /** To be called after everything that happens. */
    look() {
      const now = record();
      if (completed) {
        rule(now?.fence === completed.fence, "a completed record was replaced");
        rule(String(now?.outcome) === completed.outcome, "a completed outcome was replaced");
      }
      if (now?.state === "completed") completed = { fence: now.fence, outcome: String(now.outcome) };
      for (const run of runs.filter(isLive)) {
        const current = now?.state === "claimed" && now.fence === run.context.fence;
        rule(current, `run ${run.number} goes on, though the record is ${now?.state} under ${now?.fence}`);
      }
      if (broken) throw new Error(broken);
    },
    /** The only payload that fits the record, if there is one. */
    fingerprint: () => record()?.fingerprint,
    /** To be called when the schedule is over, before the last look. */
    answered({ caller, process, fingerprint, answer, excused, strict }: Answered) {
      const { state, value, error } = answer;
      rule(state !== "pending", `caller ${caller} of process ${process} was never answered`);
      if (error) {
        const known = excused.includes(error.code ?? "") || excused.includes(error.message);
        rule(known, `caller ${caller} of process ${process} got ${error.code ?? error.message}`);
      }
      if (!value) return;
      const run = runs.find((candidate) => candidate.value === value.value);
      rule(value.value.endsWith(`${fingerprint}>`), `caller ${caller} got ${value.value}, which it did not ask for`);
      if (!value.replayed) {
        rule(run === undefined ? caller < 0 : run.caller === caller, `${caller} got another's result as its own`);
        return;
      }
      const outcome = new TextDecoder().decode(record()?.outcome);
      // With a store that is slow or down, the true result of the same process is what there is.
      const truthful = outcome.includes(value.value) || (!strict && run?.process === process && ended.has(run));
      rule(truthful, `caller ${caller} got ${value.value}, the store has ${outcome}`);
    },
  };
}
