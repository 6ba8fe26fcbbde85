import type { ClaimResult, Store, StoredRecord } from "@onceward/core";
import fc from "fast-check";
import { expect } from "vitest";
import { bytes, type CaseContext, type Group, hourMs, request, unique } from "./context.ts";
import { type Facts, type Model, modelCalls, newModel } from "./model.ts";
import { eventually } from "./waiting.ts";

/** One step of a random sequence. Ids and tokens are numbers, so that a counterexample reads well. */
type Call =
  | {
      call: "claim";
      id: number;
      token: number;
      fingerprint: string;
      takeover: boolean;
      leaseMs: number;
      retainMs: number;
    }
  | { call: "complete"; id: number; token: number; outcome: string; ttlMs: number }
  | { call: "release" | "remove"; id: number; token: number }
  | { call: "renew"; id: number; token: number; leaseMs: number }
  | { call: "saveStep"; id: number; token: number; name: string; result: string }
  | { call: "sweep"; limit: number }
  /** With a clock: time passes. */
  | { call: "pass"; ms: number }
  /** Without one: the lease of whoever runs it ends, or its outcome expires. */
  | { call: "lapse" | "expire"; id: number };

/** Sequences of calls by three tokens on two ids. Few values, so that they meet. */
function calls(withClock: boolean): fc.Arbitrary<Call[]> {
  const who = { id: fc.nat({ max: 1 }), token: fc.nat({ max: 2 }) };
  const ms = withClock ? fc.constantFrom(1, 2, 3, 5, 8) : fc.constantFrom(hourMs, 2 * hourMs);
  const call = <Name extends Call["call"], Rest extends object>(
    name: Name,
    rest: { [Key in keyof Rest]: fc.Arbitrary<Rest[Key]> },
  ) => fc.record({ call: fc.constant(name), ...rest }) as unknown as fc.Arbitrary<Call>;
  const claim = call("claim", {
    ...who,
    ...{ fingerprint: fc.constantFrom("f", "f", "g"), takeover: fc.boolean(), leaseMs: ms, retainMs: ms },
  });
  const time = withClock
    ? [{ weight: 5, arbitrary: call("pass", { ms: fc.nat({ max: 5 }) }) }]
    : [{ weight: 2, arbitrary: fc.oneof(call("lapse", { id: who.id }), call("expire", { id: who.id })) }];
  return fc.array(
    fc.oneof(
      ...time,
      { weight: 8, arbitrary: claim },
      { weight: 2, arbitrary: call("complete", { ...who, outcome: fc.constantFrom("", "a", "b"), ttlMs: ms }) },
      { weight: 2, arbitrary: call("release", who) },
      { weight: 2, arbitrary: call("renew", { ...who, leaseMs: ms }) },
      {
        weight: 3,
        arbitrary: call("saveStep", { ...who, name: fc.constantFrom("x", "y"), result: fc.constantFrom("", "1", "2") }),
      },
      { weight: 1, arbitrary: call("remove", who) },
      { weight: 1, arbitrary: call("sweep", { limit: fc.integer({ min: 1, max: 2 }) }) },
    ),
    { maxLength: withClock ? 40 : 12, size: "max" },
  );
}

/** S1 to S9 together. */
export const sequences: Group = (declare, suite) => {
  const { seed = 1, clock } = suite;
  declare(`S1 to S9: random sequences of calls do what the model does (seed ${seed})`, async (context) => {
    const stores = [context.store, await context.another()];
    const property = fc.asyncProperty(calls(clock !== undefined), (sequence) => replay(sequence, stores, context));
    await fc.assert(property, { seed, numRuns: clock ? 300 : 25, endOnFailure: clock === undefined });
  });
};

async function replay(sequence: readonly Call[], stores: readonly Store[], context: CaseContext): Promise<void> {
  const run: Run = {
    model: newModel(),
    ids: [unique(), unique()],
    tokens: [unique(), unique(), unique()],
    fences: new Map(),
  };
  for (const [n, call] of sequence.entries()) {
    const store = stores[n % 2]!;
    await apply(call, store, run, context);
    for (const id of run.ids) {
      const [expected, actual] = [modelCalls.find(run.model, id), await store.find(id)];
      const facts = actual && recordFacts(actual);
      expect(facts && comparable(facts, context), `find after ${JSON.stringify(call)}`).toEqual(
        expected && comparable(translated(expected, id, facts, run), context),
      );
    }
  }
}

interface Run {
  readonly model: Model;
  readonly ids: readonly string[];
  readonly tokens: readonly string[];
  /** By id, the store's fence for each of the model's. */
  readonly fences: Map<string, Map<unknown, number>>;
}

async function apply(call: Call, store: Store, run: Run, context: CaseContext): Promise<void> {
  const { model } = run;
  const id = "id" in call ? run.ids[call.id]! : "";
  const token = "token" in call ? run.tokens[call.token]! : "";
  const same = async (actual: Promise<boolean>, expected: boolean) => expect(await actual, call.call).toBe(expected);
  switch (call.call) {
    case "claim": {
      const asked = request({ ...call, token });
      const [expected, actual] = [modelCalls.claim(model, id, asked), claimFacts(await store.claim(id, asked))];
      const told = comparable(translated(expected, id, actual, run), context);
      return expect(comparable(actual, context), "claim").toEqual(told);
    }
    case "complete":
      return same(
        store.complete(id, token, bytes(call.outcome), call.ttlMs),
        modelCalls.complete(model, id, token, call.outcome, call.ttlMs),
      );
    case "release":
      return same(store.release(id, token), modelCalls.release(model, id, token));
    case "remove":
      return same(store.remove(id), modelCalls.remove(model, id));
    case "renew":
      return same(store.renew(id, token, call.leaseMs), modelCalls.renew(model, id, token, call.leaseMs));
    case "saveStep":
      return same(
        store.saveStep(id, token, call.name, bytes(call.result)),
        modelCalls.saveStep(model, id, token, call.name, call.result),
      );
    case "sweep":
      return void (await store.sweep?.(call.limit));
    case "pass":
      model.now += call.ms;
      return context.pass(call.ms);
    case "lapse":
    case "expire":
      return hasten(call.call, id, store, model, context);
  }
}

/** Lets the time of one record run out without a clock: by the shortest lease or TTL, and a wait for its end. */
async function hasten(what: "lapse" | "expire", id: string, store: Store, model: Model, context: CaseContext) {
  const record = model.records.get(id);
  if (record?.state !== "claimed") return;
  const { token } = record;
  const lapses = what === "lapse";
  // Not 1 ms, which servers that count whole milliseconds may round up for one call and not for the other.
  expect(await (lapses ? store.renew(id, token, 1) : store.complete(id, token, bytes("brief"), 2)), what).toBe(true);
  if (lapses) record.leaseEndsAt = model.now;
  else model.records.delete(id);
  const state = lapses ? "abandoned" : undefined;
  await eventually(what, async () => (await store.find(id))?.state === state, context.patienceMs);
}

const text = (value: Uint8Array): string => Buffer.from(value).toString("latin1");

function claimFacts(result: ClaimResult): Facts {
  if (result.state === "claimed") {
    const { state, fence, attempt, takenOver } = result;
    const steps = Object.fromEntries([...(result.steps ?? [])].map(([name, value]) => [name, text(value)]));
    return { state, fence, attempt, takenOver, steps };
  }
  if (result.state !== "completed") return result;
  const { state, fingerprint, outcome, completedAt, expiresAt } = result;
  return { state, fingerprint, outcome: text(outcome), ttlMs: expiresAt - completedAt };
}

function recordFacts(record: StoredRecord): Facts {
  const { state, token, fingerprint, fence, attempt, leaseRemainingMs, outcome, completedAt, expiresAt } = record;
  const facts = { state, token, fingerprint, fence, attempt, leaseRemainingMs, steps: [...record.steps].sort() };
  return outcome ? { ...facts, outcome: text(outcome), ttlMs: expiresAt - completedAt! } : facts;
}

/** In real time, what is left of a lease can't be foretold to the millisecond. */
function comparable(facts: Facts, { suite }: CaseContext): Facts {
  const { leaseRemainingMs } = facts;
  return suite.clock || leaseRemainingMs === undefined
    ? facts
    : { ...facts, leaseRemainingMs: (leaseRemainingMs as number) > 0 ? "some" : "none" };
}

/** Replaces the model's fence by the store's. One that is new must be larger than all before of its id. */
function translated(expected: Facts, id: string, actual: Facts | null, { fences }: Run): Facts {
  const known = fences.get(id) ?? new Map<unknown, number>();
  fences.set(id, known);
  const { fence } = expected;
  if (fence === undefined) return expected;
  const told = actual?.["fence"] as number | undefined;
  if (!known.has(fence) && told !== undefined) {
    expect(told, "a new fence").toBeGreaterThan(Math.max(Number.NEGATIVE_INFINITY, ...known.values()));
    known.set(fence, told);
  }
  return { ...expected, fence: known.get(fence) };
}
