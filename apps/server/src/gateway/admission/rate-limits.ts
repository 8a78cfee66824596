/** Token buckets of a key's requests to a database. The burst size is one second's rate. */
export interface RateLimits {
  /** Takes a token. Null if there is no limit. */
  take(databaseId: string, keyId: string): RateAnswer | null;
}

export interface RateAnswer {
  readonly is_allowed: boolean;
  readonly left: number;
  /** Time until the next token, at least 1. */
  readonly wait_s: number;
}

interface Bucket {
  tokens: number;
  at: number;
}

type Buckets = Map<string, Bucket>;

const FORGET_AT = 100_000;

/** @param rate per second; 0 disables the limit */
export function createRateLimits(rate: number, now: () => number = () => performance.now()): RateLimits {
  // nested maps: a combined key would have to be built and hashed for each request
  const databases = new Map<string, Buckets>();
  let count = 0;
  return {
    take(databaseId, keyId) {
      if (rate === 0) return null;
      const at = now();
      let bucket = databases.get(databaseId)?.get(keyId);
      if (bucket === undefined) {
        if (count >= FORGET_AT) count -= dropFullBuckets(databases, rate, at);
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

/** A key without requests for a second equals an unknown one. Returns how many were removed. */
function dropFullBuckets(databases: Map<string, Buckets>, rate: number, at: number): number {
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
