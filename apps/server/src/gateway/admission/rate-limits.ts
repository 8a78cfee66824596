/** Requests of a key to a database, counted by tokens that come back over time: as many at once as in a second. */
export interface RateLimits {
  /** Takes one; null when nothing is bounded. */
  take(databaseId: string, keyId: string): RateAnswer | null;
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

type Buckets = Map<string, Bucket>;

const FORGET_AT = 100_000;

/** @param rate a second; 0 bounds nothing */
export function createRateLimits(rate: number, now: () => number = () => performance.now()): RateLimits {
  // by database, then by key: one name of both would be made and hashed with each request
  const databases = new Map<string, Buckets>();
  let count = 0;
  return {
    take(databaseId, keyId) {
      if (rate === 0) return null;
      const at = now();
      let bucket = databases.get(databaseId)?.get(keyId);
      if (bucket === undefined) {
        if (count >= FORGET_AT) count -= forgetFull(databases, rate, at);
        bucket = { tokens: rate, at };
        const buckets = databases.get(databaseId) ?? new Map();
        databases.set(databaseId, buckets.set(keyId, bucket));
        count += 1;
      } else {
        bucket.tokens = Math.min(rate, bucket.tokens + ((at - bucket.at) * rate) / 1_000);
        bucket.at = at;
      }
      const isAllowed = bucket.tokens >= 1;
      if (isAllowed) bucket.tokens -= 1;
      return {
        is_allowed: isAllowed,
        left: Math.floor(bucket.tokens),
        wait_s: Math.max(1, Math.ceil((1 - bucket.tokens) / rate)),
      };
    },
  };
}

/** A key that has sent nothing for a second is one that was never seen. Answers how many were forgotten. */
function forgetFull(databases: Map<string, Buckets>, rate: number, at: number): number {
  let forgotten = 0;
  for (const [databaseId, buckets] of databases) {
    for (const [keyId, bucket] of buckets) {
      if (bucket.tokens + ((at - bucket.at) * rate) / 1_000 < rate) continue;
      buckets.delete(keyId);
      forgotten += 1;
    }
    if (buckets.size === 0) databases.delete(databaseId);
  }
  return forgotten;
}
