import {
  type ListFilter,
  type Store,
  StoreClosedError,
  type StoredRecord,
  type StoreEvent,
  StoreRejectedError,
  StoreUnavailableError,
} from "@onceward/core";
import { createCalls } from "./calls.ts";
import { connectionSource, type PostgresQuery } from "./client.ts";
import { createListener, type Listener } from "./listener.ts";
import { type PostgresStoreOptions, resolveOptions } from "./options.ts";
import { decodeClaim, decodeRecord, escapeText, escapeWord } from "./rows.ts";
import { checkVersions } from "./schema.ts";
import { migrationScript, type StatementName, storeSql } from "./sql.ts";

/** A store on Postgres. */
export interface PostgresStore extends Store {
  /** Creates or upgrades the tables. Safe to call at every start, by any number of instances at once. */
  migrate(): Promise<void>;
  /** The SQL that {@link PostgresStore.migrate} would run, for those who run their own migrations. */
  migrationSql(): string;
  list(filter?: ListFilter): AsyncIterable<StoredRecord>;
  sweep(limit: number): Promise<number>;
  onEvent(listener: (event: StoreEvent) => void): () => void;
}

/** Claims of one id that keep coming in between each other; every round one of them is served. */
const MAX_ROUNDS = 100;
/** Rows that one statement of `list` looks at. */
const PAGE_SIZE = 1_000;
/** `pg` reads bytes as hexadecimal text, and V8's strings end at half a gigabyte. */
const MAX_BYTES = 100 * 1024 * 1024;

/** A store on Postgres 13 or later, or on PGlite. Call `migrate()` before the first use. */
export function postgresStore(options: PostgresStoreOptions): PostgresStore {
  const resolved = resolveOptions(options);
  const { channel, statements } = storeSql(resolved);
  const listeners = new Set<(event: StoreEvent) => void>();
  const emit = (event: StoreEvent) => {
    for (const listener of listeners) listener(event);
  };
  const onWarning = (code: string, message: string) => emit({ type: "store-warning", code, message });
  const calls = createCalls(connectionSource(resolved.client), { ...resolved, onWarning });
  const listener = resolved.listen === false ? undefined : createListener({ ...resolved, channel, calls, onWarning });
  let checked = false;
  let closed = false;

  const assertOpen = () => {
    if (closed) throw new StoreClosedError("This Postgres store was closed.");
  };

  /** Looks at the ledger; once it was good, calls no longer ask. */
  const check = async () => {
    checkVersions(await calls.run(statements.version([])), resolved);
    checked = true;
  };

  const call = async (name: StatementName, values: unknown[], undo?: () => PostgresQuery) => {
    assertOpen();
    if (!checked) await check();
    return calls.run(statements[name](values), undo);
  };

  const changed = async (name: StatementName, values: unknown[]) => (await call(name, values)).length > 0;

  return {
    claim: async (id, request) => {
      const { token, fingerprint, leaseMs, retainMs, takeover, label } = request;
      const values = [
        id,
        token,
        fingerprint,
        leaseMs,
        retainMs,
        takeover,
        label === undefined ? null : escapeText(label),
      ];
      for (let round = 1; round <= MAX_ROUNDS; round += 1) {
        const [row] = await call("claim", values, () => statements.release([id, token]));
        if (row?.[0]) return decodeClaim(row);
      }
      throw new StoreUnavailableError(`Lost ${MAX_ROUNDS} races for one record in a row.`);
    },

    complete: async (id, token, outcome, ttlMs) => {
      assertSize("outcome", outcome);
      return (await changed("complete", [id, token, outcome, ttlMs])) || changed("completed", [id, token]);
    },

    release: (id, token) => changed("release", [id, token]),

    renew: (id, token, leaseMs) => changed("renew", [id, token, leaseMs]),

    saveStep: async (id, token, name, result) => {
      assertSize("step's result", result);
      return changed("saveStep", [id, token, escapeWord(name), result]);
    },

    find: async (id) => {
      const [row] = await call("find", [id]);
      return row === undefined ? null : decodeRecord(row);
    },

    remove: async (id) => {
      const [row] = await call("remove", [id]);
      return row?.[0] === true;
    },

    list: async function* ({ state, limit = Number.POSITIVE_INFINITY } = {}) {
      let left = limit;
      for (let after: unknown = ""; after !== undefined; ) {
        const rows = await call("list", [after, PAGE_SIZE, state ?? null]);
        after = rows.pop()?.[1];
        for (const row of rows) {
          if (left-- <= 0) return;
          yield decodeRecord(row);
        }
      }
    },

    sweep: async (limit) => {
      const startedAt = performance.now();
      let removed = 0;
      for (let full = true; full && removed < limit; ) {
        const batch = Math.min(resolved.sweepBatch, limit - removed);
        const [row] = await call("sweep", [batch]);
        const count = Number(row?.[0]);
        removed += count;
        full = count === batch;
      }
      if (removed > 0) emit({ type: "swept", removed, durationMs: performance.now() - startedAt });
      return removed;
    },

    ...(listener && {
      watch: async (id, seenFence, signal) => {
        assertOpen();
        await watchRecord(listener, call, id, seenFence, signal);
      },
    }),

    onEvent: (listen) => {
      listeners.add(listen);
      return () => listeners.delete(listen);
    },

    ping: async () => {
      assertOpen();
      await check();
    },

    migrate: async () => {
      assertOpen();
      const rows = await calls.run(statements.version([])).catch(() => []);
      // Before anything is changed; a ledger that isn't there yet has no version.
      checkVersions(rows, resolved, { newerOnly: true });
      await calls.script(migrationScript(resolved));
      await check();
    },

    migrationSql: () => migrationScript(resolved),

    close: async () => {
      if (closed) return;
      closed = true;
      await listener?.close();
      calls.close();
    },
  };
}

/** Subscribes, then checks. */
async function watchRecord(
  listener: Listener,
  call: (name: StatementName, values: unknown[]) => Promise<unknown[][]>,
  id: string,
  seenFence: number,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted || !(await listener.subscribe(signal)) || signal.aborted) return;
  let wake = () => {};
  const woken = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const remove = listener.add(id, wake);
  signal.addEventListener("abort", wake);
  try {
    // An abort needn't wait for the answer.
    const asked = call("watch", [id, seenFence]).then((rows) => rows.length === 0 && wake());
    await Promise.race([woken, asked.then(() => woken)]);
  } finally {
    remove();
    signal.removeEventListener("abort", wake);
  }
}

function assertSize(what: string, bytes: Uint8Array): void {
  if (bytes.byteLength <= MAX_BYTES) return;
  throw new StoreRejectedError(
    `The ${what} has ${bytes.byteLength} bytes; this store takes ${MAX_BYTES}. Keep it elsewhere and store a reference.`,
  );
}
