import { type Store, StoreUnavailableError } from "@onceward/core";

/** What a case can do to a real store. */
export interface Faults {
  /** These calls reject as if the server were unreachable. */
  readonly down: Set<keyof Store>;
  /** These calls wait for the promise first. */
  readonly held: Map<keyof Store, Promise<void>>;
  /** Calls so far, in their order. */
  readonly calls: (keyof Store)[];
}

/** The same store, whose calls are counted and can be made to fail. */
export function withFaults(store: Store): { store: Store; faults: Faults } {
  const faults: Faults = { down: new Set(), held: new Map(), calls: [] };
  const proxy = new Proxy(store, {
    get(target, name: keyof Store) {
      const member = Reflect.get(target, name) as unknown;
      if (typeof member !== "function" || name === "onEvent" || name === "close") return member;
      return (...args: unknown[]) => {
        faults.calls.push(name);
        const call = () => (member as (...args: unknown[]) => unknown).apply(target, args);
        if (faults.down.has(name)) return Promise.reject(new StoreUnavailableError(`${name}: the kit's outage`));
        return faults.held.get(name)?.then(call) ?? call();
      };
    },
  });
  return { store: proxy, faults };
}

/** Every call that needs the server. */
export const everyCall: readonly (keyof Store)[] = ["claim", "complete", "release", "renew", "saveStep", "find"];
