export const MAX_WEBHOOKS = 20;
/** Webhooks of one organization that one job posts to concurrently. */
export const WEBHOOKS_AT_ONCE = 4;
/** Consecutive failures, with pauses between them, after which a person must resume the webhook. */
export const MAX_FAILURES = 20;
/** Maximum deliveries that wait for one webhook. Beyond it, the oldest is dropped. */
export const MAX_WAITING = 1_000;
/** Completed deliveries that stay in a webhook's list. */
export const MAX_ENDED = 2_000;
