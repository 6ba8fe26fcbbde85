import type { Slice, SliceOptions } from "./measure.ts";
import { median, type Ratio, ratioOf } from "./statistics.ts";
import type { Worker } from "./workers.ts";

/** One subject's figures in one setting. */
export interface Compared {
  readonly label: string;
  readonly slices: readonly Slice[];
  /** Requests a second, relative to the baseline's. */
  readonly throughput: Ratio;
  /** CPU time of the process for one request, relative to the baseline's. */
  readonly cpu: Ratio;
  readonly perSecond: number;
  readonly cpuMicros: number;
  readonly p50Micros: number;
  readonly p99Micros: number;
}

/** How long and how often. */
export interface Effort {
  readonly rounds: number;
  readonly sliceMs: number;
}

/**
 * Measures all workers turn by turn, so that whatever else the machine does hits all alike. The first worker is the
 * baseline; where it comes twice (A/A), the mean of both is.
 */
export async function compare(
  workers: readonly Worker[],
  options: Omit<SliceOptions, "durationMs">,
  effort: Effort,
  betweenSlices: () => Promise<unknown>,
): Promise<Compared[]> {
  const slices = new Map<Worker, Slice[]>(workers.map((worker) => [worker, []]));
  // The first, shorter round warms up and is not counted.
  for (let round = 0; round <= effort.rounds; round++) {
    const durationMs = round === 0 ? effort.sliceMs / 2 : effort.sliceMs;
    // Another order in each round: nobody always follows the same neighbour.
    for (let turn = 0; turn < workers.length; turn++) {
      const worker = workers[(turn + round) % workers.length] as Worker;
      if (options.scenario === "new") await betweenSlices();
      const slice = await worker.slice({ ...options, durationMs });
      if (round > 0) slices.get(worker)?.push(slice);
    }
  }
  const first = workers[0]?.label;
  const baselines = workers.filter(({ label }) => label === first || label === `${first} (A/A)`);
  const series = (worker: Worker, pick: (slice: Slice) => number) => (slices.get(worker) ?? []).map(pick);
  const baseline = (pick: (slice: Slice) => number) =>
    Array.from({ length: effort.rounds }, (_, round) => {
      const values = baselines.map((worker) => series(worker, pick)[round] ?? Number.NaN);
      return values.reduce((sum, value) => sum + value, 0) / values.length;
    });
  const base = { perSecond: baseline((slice) => slice.perSecond), cpuMicros: baseline((slice) => slice.cpuMicros) };
  return workers.map((worker) => ({
    label: worker.label,
    slices: slices.get(worker) ?? [],
    throughput: ratioOf(
      series(worker, (slice) => slice.perSecond),
      base.perSecond,
    ),
    cpu: ratioOf(
      series(worker, (slice) => slice.cpuMicros),
      base.cpuMicros,
    ),
    perSecond: median(series(worker, (slice) => slice.perSecond)),
    cpuMicros: median(series(worker, (slice) => slice.cpuMicros)),
    p50Micros: median(series(worker, (slice) => slice.p50Micros)),
    p99Micros: median(series(worker, (slice) => slice.p99Micros)),
  }));
}
