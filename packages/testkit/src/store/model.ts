import type { ClaimRequest } from "@onceward/core";

/** The contract's words as the simplest program that has the same behaviour: one caller at a time, a clock in a variable. */
export interface Model {
  now: number;
  fence: number;
  readonly records: Map<string, ModelRecord>;
}

interface ModelRecord {
  state: "claimed" | "released" | "completed";
  token: string;
  fingerprint: string;
  fence: number;
  attempt: number;
  takenOver: boolean;
  leaseEndsAt: number;
  retainMs: number;
  expiresAt: number;
  ttlMs: number;
  steps: Record<string, string>;
  outcome: string;
}

/** What a store shows of a record, as far as it can be foretold. Fences are the model's own. */
export type Facts = Readonly<Record<string, unknown>>;

export const newModel = (): Model => ({ now: 0, fence: 0, records: new Map() });

function present(model: Model, id: string): ModelRecord | undefined {
  const record = model.records.get(id);
  return record && model.now < record.expiresAt ? record : undefined;
}

function owned(model: Model, id: string, token: string): ModelRecord | undefined {
  const record = present(model, id);
  return record?.state === "claimed" && record.token === token ? record : undefined;
}

function lease(model: Model, record: ModelRecord, leaseMs: number): void {
  record.leaseEndsAt = model.now + leaseMs;
  record.expiresAt = model.now + Math.max(leaseMs, record.retainMs);
}

/** What the calls of a store do to the model, and what they answer. */
export const modelCalls = {
  claim(model: Model, id: string, request: ClaimRequest): Facts {
    const { token, fingerprint, leaseMs, retainMs, takeover } = request;
    const former = present(model, id);
    if (former?.state === "completed") {
      return { state: "completed", fingerprint: former.fingerprint, outcome: former.outcome, ttlMs: former.ttlMs };
    }
    if (former?.state === "claimed" && former.token === token) {
      former.retainMs = retainMs;
      lease(model, former, leaseMs);
      return granted(former);
    }
    if (former?.state === "claimed") {
      const facts = { fingerprint: former.fingerprint, fence: former.fence };
      if (model.now < former.leaseEndsAt) {
        return { state: "running", ...facts, leaseRemainingMs: former.leaseEndsAt - model.now };
      }
      if (!takeover || former.fingerprint !== fingerprint) {
        return { state: "abandoned", ...facts, attempt: former.attempt };
      }
    }
    model.fence += 1;
    const heir = former?.fingerprint === fingerprint ? former : undefined;
    const record: ModelRecord = {
      state: "claimed",
      token,
      fingerprint,
      fence: model.fence,
      attempt: heir ? heir.attempt + 1 : 1,
      takenOver: heir?.state === "claimed",
      leaseEndsAt: 0,
      retainMs,
      expiresAt: 0,
      ttlMs: 0,
      steps: { ...heir?.steps },
      outcome: "",
    };
    lease(model, record, leaseMs);
    model.records.set(id, record);
    return granted(record);
  },

  complete(model: Model, id: string, token: string, outcome: string, ttlMs: number): boolean {
    const record = present(model, id);
    if (record?.token !== token || record.state === "released") return false;
    if (record.state === "claimed") {
      Object.assign(record, { state: "completed", outcome, ttlMs, expiresAt: model.now + ttlMs, steps: {} });
    }
    return true;
  },

  release(model: Model, id: string, token: string): boolean {
    const record = owned(model, id, token);
    if (!record) return false;
    if (Object.keys(record.steps).length === 0) model.records.delete(id);
    record.state = "released";
    record.expiresAt = model.now + record.retainMs;
    return true;
  },

  renew(model: Model, id: string, token: string, leaseMs: number): boolean {
    const record = owned(model, id, token);
    if (record) lease(model, record, leaseMs);
    return record !== undefined;
  },

  saveStep(model: Model, id: string, token: string, name: string, result: string): boolean {
    const record = owned(model, id, token);
    if (record) record.steps[name] = result;
    return record !== undefined;
  },

  remove(model: Model, id: string): boolean {
    const found = modelCalls.find(model, id) !== null;
    model.records.delete(id);
    return found;
  },

  find(model: Model, id: string): Facts | null {
    const record = present(model, id);
    if (!record || record.state === "released") return null;
    const { token, fingerprint, fence, attempt } = record;
    const facts = { token, fingerprint, fence, attempt, steps: Object.keys(record.steps).sort() };
    if (record.state === "completed") {
      return { state: "completed", ...facts, leaseRemainingMs: 0, outcome: record.outcome, ttlMs: record.ttlMs };
    }
    const leaseRemainingMs = Math.max(0, record.leaseEndsAt - model.now);
    return { state: leaseRemainingMs > 0 ? "running" : "abandoned", ...facts, leaseRemainingMs };
  },
};

function granted({ fence, attempt, takenOver, steps }: ModelRecord): Facts {
  return { state: "claimed", fence, attempt, takenOver, steps: { ...steps } };
}
