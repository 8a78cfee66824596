/** Requests of a key to a database, counted by tokens that come back over time: as many at once as in a second. */
export interface RateLimits {
  /** Takes one; null when nothing is bounded. */
  take(database_id: string, key_id: string): RateAnswer | null;
}

export interface RateAnswer {
  readonly is_allowed: boolean;
  readonly left: number;
  /** Until there is one again; at least 1. */
  readonly wait_s: number;
}

interface Bucket {
  tokens: number;
  at: number;
}

const FORGET_AT = 100_000;

/** @param rate a second; 0 bounds nothing */
export function createRateLimits(rate: number, now: () => number = () => performance.now()): RateLimits {
  const buckets = new Map<string, Bucket>();
  return {
    take(database_id, key_id) {
      if (rate === 0) return null;
      const name = `${database_id} ${key_id}`;
      const at = now();
      let bucket = buckets.get(name);
      if (bucket === undefined) {
        if (buckets.size >= FORGET_AT) forgetFull(buckets, rate, at);
        bucket = { tokens: rate, at };
        buckets.set(name, bucket);
      } else {
        bucket.tokens = Math.min(rate, bucket.tokens + ((at - bucket.at) * rate) / 1_000);
        bucket.at = at;
      }
      const is_allowed = bucket.tokens >= 1;
      if (is_allowed) bucket.tokens -= 1;
      return {
        is_allowed,
        left: Math.floor(bucket.tokens),
        wait_s: Math.max(1, Math.ceil((1 - bucket.tokens) / rate)),
      };
    },
  };
}

/** A key that has sent nothing for a second is one that was never seen. */
function forgetFull(buckets: Map<string, Bucket>, rate: number, at: number): void {
  for (const [name, bucket] of buckets) {
    if (bucket.tokens + ((at - bucket.at) * rate) / 1_000 >= rate) buckets.delete(name);
  }
}
