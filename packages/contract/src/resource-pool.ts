import * as z from "zod";

/** Limits shared by the calls of several functions, across all workers of a service. */
export const resourcePoolSchema = z.strictObject({
  name: z.string(),
  /** Maximum concurrent calls; null: unlimited. */
  max_concurrent: z.int().min(1).nullable(),
  /** Maximum calls per minute; null: unlimited. */
  per_minute: z.int().min(1).nullable(),
  /** Number of retries after a provider's refusal (429, 503, timeouts). */
  retries: z.int().min(0),
});
export type ResourcePool = z.infer<typeof resourcePoolSchema>;
