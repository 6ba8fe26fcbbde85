import type { DocumentClient } from "../src/index.ts";

/** Stands for your server in this template: its own clock, one writer, answers that come later. Use the real one. */
export class TinyDatabase {
  readonly documents = new Map<string, string>();
  readonly #listeners = new Map<string, Set<() => void>>();
  /** Requests that have arrived while it was paused. */
  #waiting: (() => void)[] | undefined;
  #sequence = 0;
  #addedMs = 0;

  get now(): number {
    return Math.floor(performance.timeOrigin + performance.now() + this.#addedMs);
  }

  advance(ms: number): void {
    this.#addedMs += ms;
  }

  pause(): void {
    this.#waiting ??= [];
  }

  resume(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const proceed of waiting) proceed();
    // Listeners learn that they may have missed something.
    for (const listeners of this.#listeners.values()) for (const listener of [...listeners]) listener();
  }

  connect(): DocumentClient {
    const network = () => new Promise<void>((resolve) => setImmediate(resolve));
    const turn = async () => {
      await network();
      const waiting = this.#waiting;
      if (waiting) await new Promise<void>((proceed) => waiting.push(proceed));
    };
    const database = this;
    return {
      async update(id, change) {
        await turn();
        const next = () => ++database.#sequence;
        const { document, answer } = change(database.documents.get(id) ?? null, { now: database.now, next });
        if (document === null) database.documents.delete(id);
        else if (document !== undefined) database.documents.set(id, document);
        if (document !== undefined) for (const listener of [...(database.#listeners.get(id) ?? [])]) listener();
        await network();
        return answer;
      },
      async *scan() {
        await turn();
        for (const [id, document] of database.documents) yield { id, document, now: database.now };
      },
      async subscribe(id, listener) {
        await turn();
        const listeners = database.#listeners.get(id) ?? new Set();
        database.#listeners.set(id, listeners.add(listener));
        return () => {
          listeners.delete(listener);
          if (listeners.size === 0 && database.#listeners.get(id) === listeners) database.#listeners.delete(id);
        };
      },
    };
  }
}
