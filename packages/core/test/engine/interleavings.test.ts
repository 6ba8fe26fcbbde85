import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Mishaps, play, type Scenario, type Step } from "./interleaving.ts";

/** More schedules than every change needs, from a seed of their own: `ONCEWARD_SOAK=100 ONCEWARD_SEED=7`. */
const soak = Number(process.env["ONCEWARD_SOAK"] ?? 1);
const seed = Number(process.env["ONCEWARD_SEED"] ?? 20_261_118);

beforeAll(() => {
  vi.useFakeTimers();
  // The jitter of polling: the same schedule must always play the same.
  vi.spyOn(Math, "random").mockReturnValue(0.5);
});
afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Plays every schedule of the scenario that differs in its first `depth` decisions; how many there are. */
async function explore(scenario: Scenario, depth: number): Promise<number> {
  let prefix: number[] = [];
  for (let played = 1; ; played++) {
    const taken: number[] = [];
    const possible: number[] = [];
    await play(scenario, (steps) => {
      const choice = prefix[taken.length] ?? 0;
      possible.push(taken.length < depth ? steps.length : 1);
      taken.push(choice);
      return steps[choice] as Step;
    });
    let last = taken.length - 1;
    while (last >= 0 && (taken[last] as number) + 1 === possible[last]) last--;
    if (last < 0) return played;
    prefix = [...taken.slice(0, last), (taken[last] as number) + 1];
  }
}

const [a, b, c] = [0, 1, 2].map((process) => ({ process })) as [Caller, Caller, Caller];
type Caller = Scenario["callers"][number];
const otherPayload = { fingerprint: "b" };
const whole = Number.POSITIVE_INFINITY;
vi.setConfig({ testTimeout: 60_000 * soak });

interface Exploration extends Scenario {
  /** How many decisions are explored. */
  readonly depth: number;
  /** How many schedules that makes at least: proof that the exploration explores. */
  readonly least: number;
}

describe("every order of two callers", () => {
  it.each<[string, Exploration]>([
    ["of two processes", { callers: [a, b], depth: whole, least: 300 }],
    ["of two processes, the work throws", { callers: [a, b], mishaps: { failures: 1 }, depth: whole, least: 900 }],
    ["of two processes, a crash", { callers: [a, b], mishaps: { crashes: 1 }, depth: whole, least: 2_000 }],
    ["of two processes, a lost reply", { callers: [a, b], mishaps: { lostReplies: 1 }, depth: whole, least: 1_000 }],
    ["of two processes, a refused call", { callers: [a, b], mishaps: { refusals: 1 }, depth: whole, least: 1_000 }],
    ["of two processes, a client goes", { callers: [a, b], mishaps: { departures: 1 }, depth: 10, least: 1_000 }],
    ["of two processes, a lease passes", { callers: [a, b], mishaps: { jumps: 1 }, depth: 10, least: 3_000 }],
    ["of two processes, a timer fires early", { callers: [a, b], mishaps: { timers: 1 }, depth: 10, least: 2_000 }],
    ["of two processes, everybody is paused", { callers: [a, b], mishaps: { stalls: 1 }, depth: 10, least: 1_000 }],
    ["of two processes, two payloads", { callers: [a, { ...b, ...otherPayload }], depth: whole, least: 50 }],
    ["of one process, the work throws", { callers: [a, a], mishaps: { failures: 2 }, depth: whole, least: 10 }],
    ["of one process, a lease passes", { callers: [a, a], mishaps: { jumps: 1 }, depth: 10, least: 1_000 }],
    ["of one process, two payloads", { callers: [a, { ...a, ...otherPayload }], depth: whole, least: 5 }],
  ])("%s", async (_title, { depth, least, ...scenario }) => {
    expect(await explore(scenario, depth)).toBeGreaterThanOrEqual(least);
  });
});

describe("every order of three callers", () => {
  it.each<[string, Exploration]>([
    ["of three processes", { callers: [a, b, c], depth: 8, least: 1_000 }],
    ["of two processes", { callers: [a, a, b], depth: whole, least: 600 }],
    ["of two processes, two payloads", { callers: [a, { ...a, ...otherPayload }, b], depth: whole, least: 600 }],
    ["of one process, the work throws", { callers: [a, a, a], mishaps: { failures: 2 }, depth: whole, least: 70 }],
  ])("%s", async (_title, { depth, least, ...scenario }) => {
    expect(await explore(scenario, depth)).toBeGreaterThanOrEqual(least);
  });
});

/** What happens next by a number: one in three may be a mishap. 0 is always the plainest, so that failures shrink. */
function pick(steps: readonly Step[], number: number): Step {
  const pool = number % 3 === 1 ? steps : steps.filter(({ mishap }) => !mishap);
  return pool[Math.floor(number / 3) % pool.length] as Step;
}

describe("random orders, with everything going wrong", () => {
  const everything: Mishaps = {
    ...{ failures: 1, crashes: 1, lostReplies: 2, refusals: 2, timers: 3, jumps: 2, stalls: 1, departures: 1 },
  };
  it.each<[string, Scenario]>([
    ["two processes", { callers: [a, b] }],
    ["three processes", { callers: [a, b, c] }],
    ["three callers of two processes", { callers: [a, a, b] }],
    ["three callers of two processes that do not join", { callers: [a, a, b], options: { join: false } }],
    ["two payloads", { callers: [a, { ...a, ...otherPayload }, b] }],
    ["work with a step", { callers: [a, b, b], steps: true }],
    ["a store that may be left out", { callers: [a, a, b], options: { failOpen: true } }],
    ["nobody takes over", { callers: [a, a, b], options: { takeover: false } }],
    ["a store without push", { callers: [a, a, b], withoutWatch: true }],
  ])("%s", async (_title, scenario) => {
    const orders = fc.array(fc.nat({ max: 5_039 }), { maxLength: 80, size: "max" });
    const playOrder = async (order: readonly number[]) => {
      let decision = 0;
      await play({ mishaps: everything, ...scenario }, (steps) => pick(steps, order[decision++] ?? 0));
    };
    await fc.assert(fc.asyncProperty(orders, playOrder), { numRuns: 1_000 * soak, seed });
  });
});
