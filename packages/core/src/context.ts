import { isOncewardError, LeaseLostError, OutcomeNotEncodableError } from "./errors.ts";
import type { Operation, Surroundings } from "./execution.ts";
import { createHasher } from "./hash.ts";
import { downstreamKey } from "./keys.ts";
import type { Lease } from "./lease.ts";
import { sleep } from "./runtime.ts";
import { deserialize, serialize } from "./value.ts";

/** What the work gets to know of its own run. */
export interface Context {
  /** False when nothing protects this run: it had no key, or is not of a protected kind. */
  readonly protected: boolean;
  /** The caller's key. */
  readonly key: string | undefined;
  /**
   * Grows with every claim of this operation. Hand it to what you write to, and let that refuse a smaller one: then a
   * runner that was replaced can't write. 0 when no store has confirmed the claim (unprotected, or `failOpen`).
   */
  readonly fence: number;
  /** More than 1: a former attempt died, or failed after it had recorded steps. */
  readonly attempt: number;
  /** Aborts, with a `LeaseLostError` as reason, when another runner may have taken over. */
  readonly signal: AbortSignal;
  /**
   * Runs a part of the work and records its result, so that a later attempt skips it. A crash between the two repeats
   * that step. Throws `LeaseLostError` when the result can't be recorded.
   */
  step<Value>(name: string, work: () => Value | Promise<Value>): Promise<Value>;
  /** A key for the next service, the same in every attempt of this operation and payload, so that it dedupes too. */
  downstreamKey(name: string): Promise<string>;
}

interface ContextParts {
  readonly around: Surroundings;
  readonly operation: Operation;
  readonly lease: Lease;
  readonly token: string;
  readonly fence: () => number;
  readonly attempt: number;
  readonly steps: ReadonlyMap<string, Uint8Array> | undefined;
  /** Whether the store has confirmed the claim; without that nothing can be recorded. */
  readonly confirmed: () => boolean;
}

const utf8 = new TextEncoder();
const utf8Decoder = new TextDecoder();

/** The context of a run that holds a claim. A class, whose getters cost a run nothing. */
export class RunContext implements Context {
  readonly protected = true;
  readonly key: string;
  readonly attempt: number;
  readonly #parts: ContextParts;
  // Steps under way or done in this attempt, so that asking twice runs once.
  #steps: Map<string, Promise<unknown>> | undefined;

  constructor(parts: ContextParts) {
    this.#parts = parts;
    this.key = parts.operation.key;
    this.attempt = parts.attempt;
  }

  get fence(): number {
    return this.#parts.fence();
  }

  get signal(): AbortSignal {
    return this.#parts.lease.signal;
  }

  // Not methods: handlers take them out of their context, as `({ step }) => step(...)`.
  readonly step = <Value>(name: string, work: () => Value | Promise<Value>): Promise<Value> => {
    this.#steps ??= new Map();
    const known = this.#steps.get(name);
    if (known) return known as Promise<Value>;
    const step = runStep(this.#parts, name, work);
    this.#steps.set(name, step);
    // A step that failed may be tried again in the same attempt.
    step.catch(() => this.#steps?.delete(name));
    return step;
  };

  readonly downstreamKey = async (name: string): Promise<string> => {
    const { around, operation } = this.#parts;
    return downstreamKey(around.hash, operation.id, operation.fingerprint, name);
  };
}

/** The context of a run that nothing protects. */
export function unprotectedContext(key?: string | undefined): Context {
  return new UnprotectedContext(key);
}

/** A class as well: every request without a key has one, and an object with a getter takes 0.3 µs more. */
class UnprotectedContext implements Context {
  readonly protected = false;
  readonly key: string | undefined;
  readonly fence = 0;
  readonly attempt = 1;
  readonly step = runUnrecorded;
  #random: string | undefined;

  constructor(key: string | undefined) {
    this.key = key;
  }

  get signal(): AbortSignal {
    return new AbortController().signal;
  }

  get downstreamKey(): Context["downstreamKey"] {
    // Nothing stable to derive it from: still one key for each name within this run.
    this.#random ??= globalThis.crypto.randomUUID();
    const random = this.#random;
    return async (name) => createHasher()(["onceward:unprotected", random, name]);
  }
}

async function runUnrecorded<Value>(_name: string, work: () => Value | Promise<Value>): Promise<Value> {
  return work();
}

async function runStep<Value>(parts: ContextParts, name: string, work: () => Value | Promise<Value>): Promise<Value> {
  const { around, operation, lease, token, steps } = parts;
  const part = `step:${name}`;
  const recorded = steps?.get(name);
  const told = (skipped: boolean) =>
    around.emit(operation, { type: "step", fence: parts.fence(), step: name, skipped });
  if (recorded) {
    const plain = around.codec ? await around.codec.decode(recorded, { id: operation.id, part }) : recorded;
    told(true);
    return deserialize(utf8Decoder.decode(plain)) as Value;
  }

  if (lease.lost) throw lease.lost;
  const text = serializeStep(name, await work());
  if (parts.confirmed()) {
    const plain = utf8.encode(text);
    const bytes = around.codec ? await around.codec.encode(plain, { id: operation.id, part }) : plain;
    await record(() => around.store.saveStep(operation.id, token, name, bytes), name, lease);
  }
  told(false);
  return deserialize(text) as Value;
}

function serializeStep(name: string, value: unknown): string {
  try {
    return serialize(value);
  } catch (cause) {
    throw new OutcomeNotEncodableError(
      `The step "${name}" was done, but its result can't be recorded: ${(cause as Error).message}`,
      { cause },
    );
  }
}

/** Recording is safe to repeat, so an unreachable store is asked again for as long as the lease holds. */
async function record(save: () => Promise<boolean>, name: string, lease: Lease): Promise<void> {
  for (let delayMs = 25; ; delayMs *= 2) {
    try {
      if (await save()) return;
    } catch (cause) {
      if (isOncewardError(cause, "ERR_STORE_UNAVAILABLE") && !lease.lost) {
        await sleep(delayMs);
        continue;
      }
      throw new LeaseLostError(`The step "${name}" was done, but its result could not be recorded`, "expired", {
        cause,
      });
    }
    throw new LeaseLostError(
      `The step "${name}" was done, but another runner has taken this record over`,
      "superseded",
    );
  }
}
