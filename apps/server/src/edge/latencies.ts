/** Requests by duration, in buckets that each grow by a fifth: from 0.1 ms to more than five minutes. */
export type Latencies = readonly number[];

const FIRST_MS = 0.1;
const FACTOR = 1.2;
const LOG_FACTOR = Math.log(FACTOR);
const BUCKETS = 84;

/** The bucket of a duration. */
export function bucketOf(ms: number): number {
  if (!(ms > FIRST_MS)) return 0;
  return Math.min(BUCKETS - 1, Math.ceil(Math.log(ms / FIRST_MS) / LOG_FACTOR));
}

/** Adds counts to counts. */
export function addLatencies(to: number[], more: Latencies): void {
  for (const [bucket, count] of more.entries()) to[bucket] = (to[bucket] ?? 0) + count;
}

export function countLatencies(latencies: Latencies): number {
  return latencies.reduce((sum, count) => sum + count, 0);
}

/** The latency at a quantile (0 to 1) in ms, within 10 %. Null without requests. */
export function latencyQuantile(latencies: Latencies, part: number): number | null {
  const rank = Math.max(1, Math.ceil(countLatencies(latencies) * part));
  let seen = 0;
  for (const [bucket, count] of latencies.entries()) {
    seen += count;
    // the geometric middle of the bucket
    if (seen >= rank) return round(FIRST_MS * FACTOR ** (bucket - 0.5));
  }
  return null;
}

/** Rounds to three digits, the precision of the buckets. */
function round(ms: number): number {
  return Number(ms.toPrecision(3));
}
