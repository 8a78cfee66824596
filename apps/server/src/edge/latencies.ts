/** Requests by how long they took, in buckets that grow by a fifth each: from 0.1 ms to beyond five minutes. */
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

/** How long so large a part of the requests took at most, within a tenth; null when there was none. */
export function latencyQuantile(latencies: Latencies, part: number): number | null {
  const wanted = Math.max(1, Math.ceil(countLatencies(latencies) * part));
  let seen = 0;
  for (const [bucket, count] of latencies.entries()) {
    seen += count;
    // the middle of the bucket, as its bounds grow
    if (seen >= wanted) return round(FIRST_MS * FACTOR ** (bucket - 0.5));
  }
  return null;
}

/** Three digits: there is no more in it. */
function round(ms: number): number {
  return Number(ms.toPrecision(3));
}
