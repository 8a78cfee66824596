export const MAX_WEBHOOKS = 20;
/** Of one organization, in one turn. */
export const WEBHOOKS_AT_ONCE = 4;
/** Attempts that fail one after the other, with the pauses between them; then a person has to resume the webhook. */
export const MAX_FAILURES = 20;
/** Deliveries that wait for one webhook; of more the oldest is dropped. */
export const MAX_WAITING = 1_000;
/** Deliveries of a webhook that have ended and stay in its list. */
export const MAX_ENDED = 2_000;
