/** Resolves when `holds` does; asks again and again, and rejects after `patienceMs`. */
export async function eventually(
  what: string,
  holds: () => boolean | Promise<boolean>,
  patienceMs: number,
): Promise<void> {
  // Not Date: cases shift it.
  const deadline = performance.now() + patienceMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`Within ${patienceMs} ms this did not come true: ${what}`);
    await tick(10);
  }
}

/** The promise's result; rejects when it is still pending after `patienceMs`. */
export async function within<Value>(what: string, promise: Promise<Value>, patienceMs: number): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Still pending after ${patienceMs} ms: ${what}`)), patienceMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether the promise is still pending after some time; for what must not happen, so that slowness can't fail it. */
export async function staysPending(promise: Promise<unknown>, ms = 100): Promise<boolean> {
  return Promise.race([promise.then(() => false), tick(ms).then(() => true)]);
}

/** Lets other tasks run. */
export const tick = (ms = 0): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
