import { StoreClosedError, type StoredRecord, type StoreEvent } from "@onceward/core";
import { type RedisQuorumStoreOptions, resolveQuorumOptions } from "../options.ts";
import { bufferOf, storedRecord } from "../record.ts";
import type { RedisStore } from "../redis-store.ts";
import { sizeGuard } from "../size.ts";
import { redisWaker } from "../waker.ts";
import { serverWarnings } from "../warnings.ts";
import { dumpOf } from "./admission.ts";
import { quorumClaim } from "./claim.ts";
import { gather } from "./gather.ts";
import { quorumOf } from "./quorum.ts";
import { groupsOf, isGone, prevailing, type Vote } from "./votes.ts";
import { quorumWatch } from "./watch.ts";

/**
 * Keeps records on an odd number of independent Redis servers. A claim needs a majority of them, and an outcome is
 * readable while a majority stands: losing one of three, even with all its memory, loses nothing and runs nothing twice.
 */
export function redisQuorumStore(options: RedisQuorumStoreOptions): RedisStore {
  const { drivers, prefix, timeoutMs } = resolveQuorumOptions(options);
  const listeners = new Set<(event: StoreEvent) => void>();
  const emit = (event: StoreEvent) => {
    for (const listener of listeners) listener(event);
  };
  const quorum = quorumOf(drivers, { prefix, timeoutMs }, emit);
  const { members, majority, gated } = quorum;
  const linger = String(quorum.lingerMs);
  const guards = members.map(({ server }) => sizeGuard(server));
  /** Every server must take it. */
  const guarded = <T>(bytes: Uint8Array, call: () => Promise<T>): Promise<T> =>
    guards.reduce((inner, guard) => () => guard(bytes, inner), call)();
  const wakers = members.map(({ server }) => redisWaker(server, prefix));
  let inspected = false;
  let closed = false;

  const open = () => {
    if (closed) throw new StoreClosedError("The Redis quorum store was closed; make a new one with redisQuorumStore()");
  };
  const find = async (id: string, withOutcome: boolean): Promise<StoredRecord | null> => {
    open();
    const votes = await quorum.dump(id);
    const group = prevailing(votes, members.length) ?? (held(votes) ? groupsOf(votes)[0] : undefined);
    const live = group?.votes.filter((vote) => !isGone(vote)) ?? [];
    const vote = live.find(({ line }) => line?.state === group?.line.state);
    if (vote?.line === undefined || vote.line.state === "K") return null;
    const steps = new Set(live.flatMap(({ line }) => [...(line?.steps.keys() ?? [])]));
    return storedRecord(id, vote.line, vote.nowUs, [...steps], withOutcome);
  };
  /** Whether a majority has something, though not the same: several claim at once. */
  const held = (votes: readonly Vote[]) => votes.filter((vote) => !isGone(vote)).length >= majority;

  return {
    claim: async (id, request) => {
      open();
      return quorumClaim(quorum, id, request);
    },
    complete: async (id, token, outcome, ttlMs) => {
      open();
      const args = [token, bufferOf(outcome), String(ttlMs), String(ttlMs + quorum.lingerMs), "lingers"];
      return guarded(outcome, () => quorum.change(gated.complete, id, args));
    },
    release: async (id, token) => {
      open();
      return quorum.change(gated.release, id, [token, linger]);
    },
    renew: async (id, token, leaseMs) => {
      open();
      return quorum.change(gated.renew, id, [token, String(leaseMs), linger]);
    },
    saveStep: async (id, token, name, result) => {
      open();
      return guarded(result, () => quorum.change(gated.saveStep, id, [token, name, bufferOf(result)]));
    },
    find: (id) => find(id, true),
    remove: async (id) => {
      open();
      const found = await find(id, false);
      await quorum.change(gated.remove, id, [linger]);
      return found !== null;
    },
    list: async function* ({ state, limit = Number.POSITIVE_INFINITY } = {}) {
      open();
      let left = limit;
      const { answers } = await gather(members, async (member) => {
        await member.server.within(member.server.driver.ping());
        return member;
      });
      const reached = [...answers].sort((a, b) => a.index - b.index);
      for (const [index, member] of reached.entries()) {
        const pages = member.server.driver.scan(member.server.pattern)[Symbol.asyncIterator]();
        for (;;) {
          const page = await member.server.within(pages.next());
          if (page.done) break;
          for (const key of page.value) {
            if (left <= 0) return;
            const id = member.server.idOf(key);
            // Each record comes with the first server that has it, so that none has to be remembered.
            const dumps = await Promise.all(reached.slice(0, index).map((earlier) => dumpOf(earlier, id)));
            if (dumps.some(({ line }) => line !== undefined)) continue;
            const record = await find(id, false);
            if (record === null || (state !== undefined && record.state !== state)) continue;
            left -= 1;
            yield record;
          }
        }
      }
    },
    watch: async (id, seenFence, signal) => {
      open();
      return quorumWatch(quorum, wakers, id, seenFence, signal);
    },
    onEvent: (listener) => {
      listeners.add(listener);
      if (!inspected) {
        inspected = true;
        // Persistence matters less here: who has restarted asks the others.
        for (const driver of drivers) {
          serverWarnings(driver).then((warnings) => {
            for (const warning of warnings) if (!closed && warning.code !== "redis-persistence") emit(warning);
          });
        }
      }
      return () => {
        listeners.delete(listener);
      };
    },
    ping: async () => {
      open();
      await gather(members, (member) => member.server.within(member.server.driver.ping()));
    },
    close: async () => {
      closed = true;
      listeners.clear();
      for (const waker of wakers) waker.close();
    },
  };
}
