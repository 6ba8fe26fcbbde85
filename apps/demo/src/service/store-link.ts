import { type ListFilter, type Store, type StoredRecord, StoreUnavailableError } from "@onceward/core";
import type { StoreKind } from "../shared/messages.ts";
import type { Call, Handler, RemoteError } from "../shared/rpc.ts";

const methods = ["claim", "complete", "release", "renew", "saveStep", "find", "remove", "ping"] as const;

/**
 * The store of the main process, as a service process sees it: memory and PGlite live in one process only, and two
 * service processes must share one store. With Redis and Postgres there is no need: each process connects itself.
 */
export function linkedStore(call: Call, kind: StoreKind): Store {
  const ask = async (method: string, args: readonly unknown[], signal?: AbortSignal): Promise<unknown> => {
    try {
      return await call(`store.${method}`, [kind, ...args], signal);
    } catch (error) {
      const { code, message } = error as RemoteError;
      throw code === "ERR_STORE_UNAVAILABLE" || code === "ERR_GONE" ? new StoreUnavailableError(message) : error;
    }
  };
  const asked = Object.fromEntries(methods.map((method) => [method, (...args: unknown[]) => ask(method, args)]));
  return {
    ...(asked as unknown as Pick<Store, (typeof methods)[number]>),
    async *list(filter: ListFilter = {}) {
      yield* (await ask("list", [filter])) as StoredRecord[];
    },
    async watch(id, seenFence, signal) {
      await ask("watch", [id, seenFence], signal);
    },
    async close() {
      // The main process closes it.
    },
  };
}

/** The other end: answers from the stores of this process, unless the wire is cut. */
export function serveStore(
  find: (kind: StoreKind) => { readonly store: Store; readonly cut: boolean },
): Record<string, Handler> {
  const open = (kind: unknown): Store => {
    const { store, cut } = find(kind as StoreKind);
    if (cut) throw new StoreUnavailableError("the wire to the store is cut");
    return store;
  };
  const answer =
    (method: (typeof methods)[number]): Handler =>
    ([kind, ...args]) =>
      (open(kind)[method] as (...args: readonly unknown[]) => Promise<unknown>)(...args);
  return {
    ...Object.fromEntries(methods.map((method) => [`store.${method}`, answer(method)])),
    "store.list": async ([kind, filter]) => {
      const records: StoredRecord[] = [];
      for await (const record of open(kind).list?.(filter as ListFilter) ?? []) records.push(record);
      return records;
    },
    "store.watch": ([kind, id, seenFence], signal) => open(kind).watch?.(id as string, seenFence as number, signal),
  };
}
