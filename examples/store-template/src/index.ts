import type { ClaimRequest, ClaimResult, Store } from "@onceward/core";
import type { Change, DocumentClient, Server } from "./client.ts";
import { type Document, decode, describe, encode, owned, read } from "./document.ts";
import { guardCalls } from "./guard.ts";

export type { Change, DocumentClient, Server } from "./client.ts";

/** Options of {@link documentStore}. */
export interface DocumentStoreOptions {
  /** Yours: the store neither opens nor closes it. */
  readonly client: DocumentClient;
  /** How long to wait for an answer of the server. Default: 2,000. */
  readonly timeoutMs?: number | undefined;
}

/** A complete store. Every method is one update of one document, decided at the server. */
export function documentStore({ client, timeoutMs = 2_000 }: DocumentStoreOptions): Store {
  const { call, watching, close } = guardCalls(timeoutMs);
  const update = <Answer>(id: string, change: (document: string | null, server: Server) => Change<Answer>) =>
    call(() => client.update(id, change));

  const release = (text: string | null, now: number, token: string): Change<boolean> => {
    const document = owned(text, now, token);
    if (!document) return { answer: false };
    if (document.steps.length === 0) return { document: null, answer: true };
    return { ...write({ ...document, state: "released", expiresAt: now + document.retainMs }), answer: true };
  };

  return {
    async claim(id, request) {
      try {
        return await update(id, (text, server) => claim(read(text, server.now), request, server));
      } catch (error) {
        // The claim may still arrive. Sent after it on the same connection, this ends it, so that nobody waits for it.
        client.update(id, (text, { now }) => release(text, now, request.token)).catch(() => {});
        throw error;
      }
    },

    complete: (id, token, outcome, ttlMs) => {
      const bytes = encode(outcome);
      return update(id, (text, { now }) => {
        const document = read(text, now);
        if (document?.state === "completed" && document.token === token) return { answer: true };
        if (!owned(text, now, token)) return { answer: false };
        const completed = { ...document!, state: "completed", outcome: bytes, completedAt: now, steps: [] } as const;
        return { ...write({ ...completed, expiresAt: now + ttlMs }), answer: true };
      });
    },

    release: (id, token) => update(id, (text, { now }) => release(text, now, token)),

    renew: (id, token, leaseMs) =>
      update(id, (text, { now }) => {
        const document = owned(text, now, token);
        return document ? { ...write(leased(document, leaseMs, now)), answer: true } : { answer: false };
      }),

    saveStep: (id, token, name, result) => {
      const step = [name, encode(result)] as const;
      return update(id, (text, { now }) => {
        const document = owned(text, now, token);
        if (!document) return { answer: false };
        const steps = [...document.steps.filter(([other]) => other !== name), step];
        return { ...write({ ...document, steps }), answer: true };
      });
    },

    find: (id) =>
      update(id, (text, { now }) => {
        const document = read(text, now);
        const record = describe(id, document, now);
        return {
          answer: record && {
            ...record,
            ...(document?.outcome !== undefined && { outcome: decode(document.outcome) }),
          },
        };
      }),

    remove: (id) =>
      update(id, (text, { now }) => ({ document: null, answer: describe(id, read(text, now), now) !== null })),

    async *list({ state, limit = Number.POSITIVE_INFINITY } = {}) {
      const scan = client.scan()[Symbol.asyncIterator]();
      for (let left = limit; left > 0; ) {
        const { done, value } = await call(() => scan.next());
        if (done) return;
        const record = describe(value.id, read(value.document, value.now), value.now);
        if (!record || (state !== undefined && record.state !== state)) continue;
        left--;
        yield record;
      }
    },

    async watch(id, seenFence, signal) {
      await watching(signal, async (wake) => {
        // Subscribe first, check then: what happens in between is not missed.
        const unsubscribe = await call(() => client.subscribe(id, check));
        await check();
        return unsubscribe;

        async function check() {
          const running = await update(id, (text, { now }) => {
            const document = read(text, now);
            return { answer: document?.state === "claimed" && document.fence === seenFence };
          }).catch(() => false);
          if (!running) wake();
        }
      });
    },

    async sweep(limit) {
      // With an index on the expiry, a database finds these without a scan.
      let swept = 0;
      const scan = client.scan()[Symbol.asyncIterator]();
      while (swept < limit) {
        const { done, value } = await call(() => scan.next());
        if (done) break;
        if (read(value.document, value.now)) continue;
        // Decided again at the server: by now it may have been claimed anew.
        const expired = await update(value.id, (text, { now }) =>
          text === null || read(text, now) ? { answer: 0 } : { document: null, answer: 1 },
        );
        swept += expired;
      }
      return swept;
    },

    ping: () => update("ping", () => ({ answer: undefined })),
    close,
  };
}

const write = (document: Document) => ({ document: JSON.stringify(document) });

/** Neither lease nor retention ends before the other says so. */
function leased(document: Document, leaseMs: number, now: number): Document {
  return { ...document, leaseEndsAt: now + leaseMs, expiresAt: now + Math.max(document.retainMs, leaseMs) };
}

function claimed({ fence, attempt, takenOver, steps }: Document): ClaimResult {
  const results = new Map(steps.map(([name, result]) => [name, decode(result)]));
  return { state: "claimed", fence, attempt, takenOver, ...(results.size > 0 && { steps: results }) };
}

function claim(former: Document | undefined, request: ClaimRequest, { now, next }: Server): Change<ClaimResult> {
  const { token, fingerprint, leaseMs, retainMs, takeover, label } = request;
  if (former?.state === "completed") {
    const { outcome, completedAt, expiresAt } = former;
    const facts = { fingerprint: former.fingerprint, completedAt: completedAt!, expiresAt };
    return { answer: { state: "completed", ...facts, outcome: decode(outcome!) } };
  }
  if (former?.state === "claimed" && former.token === token) {
    // The reply to the first claim was lost.
    return { ...write(leased({ ...former, retainMs }, leaseMs, now)), answer: claimed(former) };
  }
  if (former?.state === "claimed") {
    const facts = { fingerprint: former.fingerprint, fence: former.fence };
    const leaseRemainingMs = former.leaseEndsAt - now;
    if (leaseRemainingMs > 0) return { answer: { state: "running", ...facts, leaseRemainingMs } };
    if (!takeover || former.fingerprint !== fingerprint) {
      return { answer: { state: "abandoned", ...facts, attempt: former.attempt } };
    }
  }
  const heir = former?.fingerprint === fingerprint ? former : undefined;
  const document: Document = {
    ...{ state: "claimed", token, fingerprint, retainMs, label, fence: next(), claimedAt: now },
    ...{ attempt: (heir?.attempt ?? 0) + 1, takenOver: heir?.state === "claimed", steps: heir?.steps ?? [] },
    ...{ leaseEndsAt: now + leaseMs, expiresAt: now + Math.max(retainMs, leaseMs) },
  };
  return { ...write(document), answer: claimed(document) };
}
