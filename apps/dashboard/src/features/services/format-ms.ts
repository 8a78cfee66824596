/** Formats with three digits, the precision of the values: `0.42 ms`, `12.3 ms`, `1,200 ms`, `3.4 s`. */
export function formatMs(ms: number | null): string {
  if (ms === null) return "-";
  if (ms >= 10_000) return `${(ms / 1_000).toFixed(ms >= 100_000 ? 0 : 1)} s`;
  return `${new Intl.NumberFormat("en", { maximumSignificantDigits: 3 }).format(ms)} ms`;
}
