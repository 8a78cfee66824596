/** Median, minimum and maximum of the runs of one measure. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  const lower = sorted[middle - 1] ?? upper;
  const median = sorted.length % 2 === 1 ? upper : (lower + upper) / 2;
  return { median, min: sorted[0] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN };
}

export function formatSpread(of: Spread, digits = 0): string {
  return `${of.median.toFixed(digits)} (${of.min.toFixed(digits)}-${of.max.toFixed(digits)})`;
}
