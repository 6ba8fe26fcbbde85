import { type Store, StoreUnavailableError } from "@onceward/core";
import { type MemoryBackend, memoryStore } from "@onceward/store-memory";

type WithoutServer = (right: Store, name: string, parameters: unknown[]) => Promise<unknown>;

/** What a store says when its server is away. */
export const unavailable = (): Promise<never> =>
  Promise.reject(new StoreUnavailableError("The server is switched off."));

/** Stores whose server can be switched off. What they then do is right, unless told otherwise. */
export function switchable(backend: MemoryBackend, withoutServer: WithoutServer = unavailable) {
  let down = false;
  const create = (): Store => {
    const right = memoryStore({ backend });
    const guarded = Object.entries(right).map(([name, method]: [string, (...parameters: never[]) => unknown]) => [
      name,
      async (...parameters: never[]) => (down ? withoutServer(right, name, parameters) : method(...parameters)),
    ]);
    return {
      ...(Object.fromEntries(guarded) as Store),
      async *list(filter) {
        if (down) await withoutServer(right, "list", [filter]);
        yield* right.list(filter);
      },
      close: right.close,
    };
  };
  const begin = () => {
    down = true;
  };
  const end = () => {
    down = false;
  };
  return { create, outage: { begin, end } };
}
