/** How rows are written and computed together. */
export const BATCHING = {
  batches_in_flight: 2,
  batch_items: 512,
  batch_bytes: 8_000_000,
  waiting_items: 10_000,
  waiting_bytes: 256_000_000,
} as const;
