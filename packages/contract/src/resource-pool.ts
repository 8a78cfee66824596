import * as z from "zod";

/** 1 to 100 printable characters, as the library checks (declare/pools.py). */
const POOL_NAME = /^(?: |[^\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Z}]){1,100}$/u;
const MAX_LIMIT = 1_000_000;

/** Limits shared by the calls of several functions, across all workers of a service. */
export const resourcePoolSchema = z.strictObject({
  name: z.string().regex(POOL_NAME, "The name of a resource pool has 1 to 100 printable characters."),
  /** Maximum concurrent calls; null: unlimited. */
  max_concurrent: z.int().min(1).max(MAX_LIMIT).nullable(),
  /** Maximum calls per minute; null: unlimited. */
  per_minute: z.int().min(1).max(MAX_LIMIT).nullable(),
  /** Number of retries after a provider's refusal (429, 503, timeouts). */
  retries: z.int().min(0).max(MAX_LIMIT),
});
export type ResourcePool = z.infer<typeof resourcePoolSchema>;
