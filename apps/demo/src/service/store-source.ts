import type { Store } from "@onceward/core";
import { postgresStore } from "@onceward/store-postgres";
import { redisStore } from "@onceward/store-redis";
import { Redis } from "ioredis";
import pg from "pg";
import type { StoreKind } from "../shared/messages.ts";
import type { Call } from "../shared/rpc.ts";
import { linkedStore } from "./store-link.ts";

/** How a service process reaches its store. */
export type StoreSource =
  | { readonly kind: "linked"; readonly store: StoreKind }
  | { readonly kind: "redis"; readonly url: string; readonly prefix: string }
  | { readonly kind: "postgres"; readonly url: string; readonly schema: string };

/** A store, and what ends the connections that were opened for it. */
export interface OpenStore {
  readonly store: Store;
  disconnect(): Promise<void>;
}

/** Opens the store of a source, with connections of this process. */
export function openStore(source: StoreSource, call: Call): OpenStore {
  if (source.kind === "linked") return { store: linkedStore(call, source.store), disconnect: async () => {} };
  if (source.kind === "redis") {
    const client = new Redis(source.url, { retryStrategy: () => 100 });
    // The store tells of what fails; unheard, the event would be printed.
    client.on("error", () => {});
    return {
      store: redisStore({ client, prefix: source.prefix }),
      disconnect: async () => client.disconnect(),
    };
  }
  const pool = new pg.Pool({ connectionString: source.url, max: 5 });
  return {
    store: postgresStore({ client: pool, schema: source.schema }),
    disconnect: () => pool.end(),
  };
}
