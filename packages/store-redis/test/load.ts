import { type Store, StoreUnavailableError } from "@onceward/core";
import { eventually } from "@onceward/test-servers";
import { expect } from "vitest";
import { bytes, HOUR_MS, replayed, request } from "./helpers.ts";

/** Duplicates of many operations, on several instances, while something happens to the servers. */
export interface Load {
  /** How many operations were completed so far. */
  completed(): number;
  /** Resolves when so many more were completed. */
  more(count: number): Promise<void>;
  /** Ends it, and checks: nothing ran twice, every outcome that was confirmed is there. Returns the errors' messages. */
  stop(): Promise<string[]>;
}

const DUPLICATES = 3;

/** @param newId - An id for the next operation. */
export function startLoad(stores: readonly Store[], newId: () => string): Load {
  const runs = new Map<string, number>();
  const outcomes = new Map<string, string>();
  const errors: string[] = [];
  let [stopped, abandoned] = [false, false];

  const attempt = async (store: Store, id: string) => {
    const wanted = request();
    const claim = await store.claim(id, wanted);
    if (claim.state !== "claimed") return;
    // From here on the handler runs.
    runs.set(id, (runs.get(id) ?? 0) + 1);
    const outcome = `outcome of ${wanted.token}`;
    // As the engine does: an outcome is offered until somebody answers.
    while (!abandoned) {
      const confirmed = await store.complete(id, wanted.token, bytes(outcome), HOUR_MS).catch(noteUnavailable);
      if (confirmed === false) throw new Error(`the runner of ${id} was superseded`);
      if (confirmed === true) {
        outcomes.set(id, outcome);
        return;
      }
    }
  };
  const noteUnavailable = (error: unknown): undefined => {
    if (!(error instanceof StoreUnavailableError)) throw error;
    errors.push(error.message);
  };
  const worker = async () => {
    while (!stopped) {
      const id = newId();
      const duplicates = Array.from({ length: DUPLICATES }, (_, n) => attempt(stores[n % stores.length] as Store, id));
      await Promise.all(duplicates.map((duplicate) => duplicate.catch(noteUnavailable)));
    }
  };
  const workers = Promise.all([worker(), worker(), worker(), worker()]);
  workers.catch(() => {});

  return {
    completed: () => outcomes.size,
    more: async (count) => {
      const goal = outcomes.size + count;
      const reached = eventually(() => outcomes.size >= goal, { what: `${goal} operations were completed` });
      await Promise.race([reached, workers]).catch((error: unknown) => {
        stopped = abandoned = true;
        throw error;
      });
    },
    stop: async () => {
      stopped = true;
      await workers;
      expect([...runs].filter(([, count]) => count > 1)).toEqual([]);
      for (const [id, outcome] of outcomes) {
        const store = stores[id.length % stores.length] as Store;
        const replay = () => replayed(store, id).catch(noteUnavailable);
        expect(await eventually(replay, { what: "an answer" })).toBe(outcome);
      }
      return errors;
    },
  };
}
