/** A figure relative to that of the baseline in the same round: the median of all rounds, and their extremes. */
export interface Ratio {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** The value below which a share of all values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const index = Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1));
  return sorted[index] ?? Number.NaN;
}

/** The middle value; of an even number of values the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted.length >> 1;
  const [low, high] = sorted.length % 2 ? [sorted[upper], sorted[upper]] : [sorted[upper - 1], sorted[upper]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}

/** The ratio of two series, round by round. */
export function ratioOf(values: readonly number[], baseline: readonly number[]): Ratio {
  const ratios = values.map((value, round) => value / (baseline[round] ?? Number.NaN));
  return { median: median(ratios), low: Math.min(...ratios), high: Math.max(...ratios) };
}
