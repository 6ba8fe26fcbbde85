import { expect } from "vitest";
import { bytes, type CaseContext, claimed, type Group, hourMs, request, unique } from "./context.ts";

/** S1: one claim wins. */
export const oneWinner: Group = (declare) => {
  declare("S1.1 of 1,000 concurrent claims on several instances exactly one is granted", async ({ store, another }) => {
    const stores = [store, await another(), await another(), await another()];
    const id = unique();
    const claims = Array.from({ length: 1_000 }, (_, n) => stores[n % stores.length]!.claim(id, request()));
    const results = await Promise.all(claims);
    const winners = results.filter(({ state }) => state === "claimed");
    expect(winners, "claims that were granted").toHaveLength(1);
    for (const result of results.filter(({ state }) => state !== "claimed")) {
      expect(result).toMatchObject({ state: "running", fingerprint: "fingerprint" });
      expect((result as { fence: number }).fence).toBe((winners[0] as { fence: number }).fence);
    }
  });

  declare("S1.2 each of many ids, claimed concurrently, has one winner", async ({ store, another }) => {
    const stores = [store, await another()];
    const ids = Array.from({ length: 50 }, unique);
    const results = await Promise.all(
      ids.flatMap((id) => [0, 1, 0, 1].map(async (n) => ({ id, ...(await stores[n]!.claim(id, request())) }))),
    );
    for (const id of ids) {
      const states = results.filter((result) => result.id === id).map(({ state }) => state);
      expect(states.sort(), "two claims on each of two instances").toEqual([
        "claimed",
        "running",
        "running",
        "running",
      ]);
    }
  });

  declare("S1.3 a claim of an absent id is the first attempt", async ({ store }) => {
    const result = await claimed(store, unique(), request());
    expect(result).toMatchObject({ attempt: 1, takenOver: false });
    expect(result.steps?.size ?? 0).toBe(0);
    expect(Number.isSafeInteger(result.fence), `fence ${result.fence} is a whole number below 2^53`).toBe(true);
  });

  declare("S1.4 what one instance does, all others see", async ({ store, another }) => {
    const other = await another();
    const id = unique();
    const { token } = request();
    await claimed(store, id, request({ token }));
    expect(await other.find(id)).toMatchObject({ state: "running", token });
    expect(await other.saveStep(id, token, "step", bytes("1"))).toBe(true);
    expect((await store.find(id))?.steps).toEqual(["step"]);
    expect(await other.complete(id, token, bytes("done"), hourMs)).toBe(true);
    expect(await store.claim(id, request())).toMatchObject({ state: "completed" });
    expect(await other.remove(id)).toBe(true);
    expect(await store.find(id)).toBeNull();
  });

  declare("S1.5 ids, tokens and fingerprints of 1 to 128 characters are told apart, by case too", async ({ store }) => {
    const prefix = unique().slice(0, 20);
    const ids = [
      `${prefix}a`,
      `${prefix}A`,
      `${prefix}-`,
      `${prefix}_`,
      prefix,
      prefix.padEnd(127, "x"),
      prefix.padEnd(128, "x"),
    ];
    for (const id of ids) {
      const long = id.padEnd(128, "_");
      await claimed(store, id, request({ token: long, fingerprint: long }));
      expect(await store.find(id)).toMatchObject({ id, token: long, fingerprint: long });
    }
    const short = unique();
    await claimed(store, short, request({ token: "t", fingerprint: "f" }));
    expect(await store.find(short)).toMatchObject({ token: "t", fingerprint: "f" });
    for (const id of ids) expect(await store.remove(id)).toBe(true);
  });
};

/**
 * Starts two calls at nearly the same time: for some values of `round` the one first, for others the other, and with some
 * turns of the event loop between them, so that a gap inside either is met.
 */
async function race<First, Second>(
  round: number,
  first: () => Promise<First>,
  second: () => Promise<Second>,
): Promise<[First, Second]> {
  const after = async <Value>(turns: number, call: () => Promise<Value>) => {
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
    return call();
  };
  const turns = round % 7;
  return Promise.all([after(Math.max(0, turns - 3), first), after(Math.max(0, 3 - turns), second)]);
}

/** S2: every method is one atomic step. */
export const atomicSteps: Group = (declare, suite) => {
  const rounds = Array.from({ length: 35 }, (_, n) => n);

  /** Runs whose leases are over. */
  const lapsedRuns = async ({ store, shortMs, pass }: CaseContext) => {
    const runs = rounds.map((round) => ({ round, id: unique(), token: unique() }));
    await Promise.all(runs.map(({ id, token }) => claimed(store, id, request({ token, leaseMs: shortMs }))));
    await pass(shortMs);
    return runs;
  };

  declare("S2.1 a release races claims: one next runner, and none without the release", async ({ store, another }) => {
    const other = await another();
    await Promise.all(
      rounds.map(async (round) => {
        const [id, token] = [unique(), unique()];
        await claimed(store, id, request({ token }));
        const [, claims] = await race(
          round,
          () => store.release(id, token),
          () => Promise.all([other.claim(id, request()), store.claim(id, request())]),
        );
        expect(claims.filter(({ state }) => state === "claimed").length).toBeLessThanOrEqual(1);
        const last = await other.claim(id, request());
        const winners = [...claims, last].filter(({ state }) => state === "claimed");
        expect(winners, "one of all claims after the release").toHaveLength(1);
      }),
    );
  });

  declare("S2.2 a late complete races a takeover: one of them wins", async (context) => {
    const { store } = context;
    const other = await context.another();
    await Promise.all(
      (await lapsedRuns(context)).map(async ({ round, id, token }) => {
        const [completed, next] = await race(
          round,
          () => store.complete(id, token, bytes("late"), hourMs),
          () => other.claim(id, request()),
        );
        expect(next.state).toBe(completed ? "completed" : "claimed");
        expect((await store.find(id))?.state).toBe(completed ? "completed" : "running");
      }),
    );
  });

  declare("S2.3 a late renewal races a takeover: one of them wins", async (context) => {
    const { store } = context;
    const other = await context.another();
    await Promise.all(
      (await lapsedRuns(context)).map(async ({ round, id, token }) => {
        const [renewed, next] = await race(
          round,
          () => store.renew(id, token, hourMs),
          () => other.claim(id, request()),
        );
        expect(next.state).toBe(renewed ? "running" : "claimed");
      }),
    );
  });

  declare("S2.4 a late step races a takeover: it is handed over or refused", async (context) => {
    const { store } = context;
    const other = await context.another();
    await Promise.all(
      (await lapsedRuns(context)).map(async ({ round, id, token }) => {
        const [saved, next] = await race(
          round,
          () => store.saveStep(id, token, "late", bytes("1")),
          () => claimed(other, id, request()),
        );
        expect(next.steps?.has("late") ?? false).toBe(saved);
        expect((await store.find(id))?.steps).toEqual(saved ? ["late"] : []);
      }),
    );
  });

  declare("S2.5 concurrent steps of one runner are all kept", async ({ store, another }) => {
    const other = await another();
    const [id, token] = [unique(), unique()];
    await claimed(store, id, request({ token }));
    const names = rounds.map((n) => `step ${n}`);
    const saved = await Promise.all(
      names.map((name, n) => (n % 2 === 0 ? store : other).saveStep(id, token, name, bytes(name))),
    );
    expect(saved).toEqual(names.map(() => true));
    expect([...((await store.find(id))?.steps ?? [])].sort()).toEqual([...names].sort());
  });

  const { roundTrips } = suite;
  if (!roundTrips) return;
  declare("S2.6 a new request costs two round trips, a replay one", async ({ store }) => {
    const cost = async (work: () => Promise<unknown>) => {
      const before = await roundTrips();
      await work();
      return (await roundTrips()) - before;
    };
    const once = async () => {
      const [id, token] = [unique(), unique()];
      await store.claim(id, request({ token }));
      await store.complete(id, token, bytes("done"), hourMs);
      return id;
    };
    // The first use may connect and load scripts.
    await store.claim(await once(), request());
    expect(await cost(once), "round trips of claim and complete").toBe(2);
    const id = await once();
    expect(await cost(() => store.claim(id, request())), "round trips of a replay").toBe(1);
  });
};
