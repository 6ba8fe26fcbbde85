import { type Store, StoreUnavailableError } from "../../src/index.ts";

/** The calls that can be made to fail. */
export type FaultyCall = "claim" | "complete" | "release" | "renew" | "saveStep" | "find" | "watch" | "sweep";

/** What happens to one call on its way: `send` lets it arrive at the real store. */
export type Fault = (send: () => Promise<unknown>) => Promise<unknown>;

/** A real store behind a network that can fail. */
export interface FaultyStore extends Store {
  /** Names of the calls the engine made, whatever became of them. */
  readonly calls: FaultyCall[];
  /** The next calls of that name meet these faults, one each. */
  next(call: FaultyCall, ...faults: Fault[]): void;
  /** Every call of that name meets the fault, until told otherwise. */
  always(call: FaultyCall, fault: Fault | undefined): void;
  /** Every call meets the fault, until told otherwise. */
  everything(fault: Fault | undefined): void;
}

/** A promise that is settled from outside. */
export function deferred<Value>() {
  let resolve!: (value: Value) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<Value>((...settle) => {
    [resolve, reject] = settle;
  });
  return { promise, resolve, reject };
}

/** The call never arrives, and that is known in time. */
export const refused =
  (error: unknown = new StoreUnavailableError("refused")): Fault =>
  () =>
    Promise.reject(error);

/** The call arrives, and its reply gets lost. */
export const replyLost: Fault = async (send) => {
  await send();
  throw new StoreUnavailableError("reply lost");
};

/** The process is dead: its calls neither arrive nor return. */
export const crashed: Fault = () => new Promise(() => {});

/** Holds a call back before it arrives, and its reply before it returns. */
export function held(): { readonly fault: Fault; readonly arrive: () => void; readonly answer: () => void } {
  const before = deferred<void>();
  const after = deferred<void>();
  return {
    fault: async (send) => {
      await before.promise;
      const reply = await send();
      await after.promise;
      return reply;
    },
    arrive: before.resolve,
    answer: () => {
      before.resolve();
      after.resolve();
    },
  };
}

/** Puts the store behind a network that fails on demand. Capabilities of the store can be left out. */
export function faultyStore(store: Store, without: readonly ("watch" | "sweep")[] = []): FaultyStore {
  const calls: FaultyCall[] = [];
  const queues = new Map<FaultyCall, Fault[]>();
  const lasting = new Map<FaultyCall, Fault | undefined>();
  let overall: Fault | undefined;

  function through<Result>(call: FaultyCall, send: () => Promise<Result>): Promise<Result> {
    calls.push(call);
    const fault = overall ?? queues.get(call)?.shift() ?? lasting.get(call);
    return fault ? (fault(send) as Promise<Result>) : send();
  }
  const { watch, sweep } = store;
  return {
    ...store,
    calls,
    next: (call, ...faults) => void queues.set(call, [...(queues.get(call) ?? []), ...faults]),
    always: (call, fault) => void lasting.set(call, fault),
    everything: (fault) => {
      overall = fault;
    },
    claim: (id, request) => through("claim", () => store.claim(id, request)),
    complete: (id, token, outcome, ttlMs) => through("complete", () => store.complete(id, token, outcome, ttlMs)),
    release: (id, token) => through("release", () => store.release(id, token)),
    renew: (id, token, leaseMs) => through("renew", () => store.renew(id, token, leaseMs)),
    saveStep: (id, token, name, bytes) => through("saveStep", () => store.saveStep(id, token, name, bytes)),
    find: (id) => through("find", () => store.find(id)),
    ...(watch && !without.includes("watch")
      ? { watch: (id, fence, signal) => through("watch", () => watch(id, fence, signal)) }
      : { watch: undefined as never }),
    ...(sweep && !without.includes("sweep")
      ? { sweep: (limit) => through("sweep", () => sweep(limit)) }
      : { sweep: undefined as never }),
  };
}
