import type { Store } from "@onceward/core";
import type { StoreSource } from "../service/store-source.ts";
import type { StoreKind } from "../shared/messages.ts";
import { type HostedStore, openHostedStore } from "./stores.ts";

/** The store in use, and those that were: a visitor who comes back finds the records. */
export interface StoreSwitch {
  readonly current: HostedStore;
  /** A store that was opened before. Requests that began on it end on it. */
  opened(kind: StoreKind): Store;
  /** While a store starts, and why it didn't. */
  readonly note: string | undefined;
  /** Whether the wire between service and store is cut. */
  readonly cut: boolean;
  /**
   * Changes over, one change at a time. `apply` makes the service follow. Rejects when the store can't be had; then the
   * former one stays.
   */
  use(kind: StoreKind, apply: (source: StoreSource) => Promise<void>): Promise<void>;
  cutWire(): void;
  mendWire(): void;
  close(): Promise<void>;
}

/** A switch that begins with the memory store; `onChange` hears of every change. */
export async function createStoreSwitch(onChange: () => void): Promise<StoreSwitch> {
  let current = await openHostedStore("memory");
  const opened = new Map<StoreKind, HostedStore>([["memory", current]]);
  let note: string | undefined;
  let cut = false;
  let lastChange: Promise<unknown> = Promise.resolve();

  function mendWire(): void {
    if (!cut) return;
    cut = false;
    current.wire?.mend();
    onChange();
  }

  async function change(kind: StoreKind, apply: (source: StoreSource) => Promise<void>): Promise<void> {
    try {
      mendWire();
      note = opened.has(kind) ? undefined : `Starting ${kind} …`;
      onChange();
      const next = opened.get(kind) ?? (await openHostedStore(kind));
      opened.set(kind, next);
      await apply(next.source);
      current = next;
      note = undefined;
    } catch (error) {
      note = (error as Error).message;
      console.error(note);
      throw error;
    } finally {
      onChange();
    }
  }

  return {
    get current() {
      return current;
    },
    opened(kind) {
      const known = opened.get(kind);
      if (!known) throw new Error(`${kind} was not opened`);
      return known.store;
    },
    get note() {
      return note;
    },
    get cut() {
      return cut;
    },
    use(kind, apply) {
      const changed = lastChange.then(() => change(kind, apply));
      lastChange = changed.catch(() => {});
      return changed;
    },
    cutWire() {
      if (!current.wire)
        throw new Error("This store's connection can't be cut: it is encrypted, or on another machine.");
      cut = true;
      current.wire.cut();
      onChange();
    },
    mendWire,
    async close() {
      for (const store of opened.values()) await store.close();
    },
  };
}
