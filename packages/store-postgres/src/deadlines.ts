/** What has a time limit, all of it the same. */
export interface Deadlines<T> {
  add(item: T): void;
  /** It was in time. */
  delete(item: T): void;
}

/**
 * One timer for everything that is under way: one for each call would be made and thrown away for nothing. Items are late
 * in the order in which they came.
 *
 * @param late - Called for whatever wasn't deleted within the limit.
 */
export function createDeadlines<T>(limitMs: number, late: (item: T) => void): Deadlines<T> {
  const lateAt = new Map<T, number>();
  let timer: NodeJS.Timeout | undefined;

  const check = (): void => {
    timer = undefined;
    for (const [item, at] of lateAt) {
      const leftMs = at - performance.now();
      if (leftMs > 0) {
        timer = setTimeout(check, Math.ceil(leftMs));
        return;
      }
      lateAt.delete(item);
      late(item);
    }
  };

  return {
    add: (item) => {
      lateAt.set(item, performance.now() + limitMs);
      if (timer === undefined) timer = setTimeout(check, limitMs);
      else if (lateAt.size === 1) timer.ref();
    },
    delete: (item) => {
      lateAt.delete(item);
      // It goes on in case another call comes soon, but keeps no process alive.
      if (lateAt.size === 0) timer?.unref();
    },
  };
}
