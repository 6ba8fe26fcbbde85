/** What the queue keeps in order. It writes down the place itself, so that an entry is found without a search. */
export interface Expiring {
  expiresAt: number;
  place: number;
}

/**
 * Entries by expiry, the earliest first: a binary heap in which every entry knows its place. Entries that leave early
 * leave nothing behind, which queues of hints and one timer per record both do.
 */
export class ExpiryQueue<Entry extends Expiring> {
  readonly #heap: Entry[] = [];

  /** The entry that expires first. */
  get first(): Entry | undefined {
    return this.#heap[0];
  }

  add(entry: Entry): void {
    this.#settle(entry, this.#heap.length);
  }

  /** Tells that the expiry of an entry has changed. */
  moved(entry: Entry): void {
    this.#settle(entry, entry.place);
  }

  delete(entry: Entry): void {
    const last = this.#heap.pop()!;
    if (last !== entry) this.#settle(last, entry.place);
  }

  /** Finds the place for an entry, from a place that is free or its own: up while it is too low, then down. */
  #settle(entry: Entry, free: number): void {
    const heap = this.#heap;
    let place = free;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (heap[parent]!.expiresAt <= entry.expiresAt) break;
      this.#put(heap[parent]!, place);
      place = parent;
    }
    for (let child = 2 * place + 1; child < heap.length; child = 2 * place + 1) {
      if (child + 1 < heap.length && heap[child + 1]!.expiresAt < heap[child]!.expiresAt) child++;
      if (entry.expiresAt <= heap[child]!.expiresAt) break;
      this.#put(heap[child]!, place);
      place = child;
    }
    this.#put(entry, place);
  }

  #put(entry: Entry, place: number): void {
    this.#heap[place] = entry;
    entry.place = place;
  }
}
