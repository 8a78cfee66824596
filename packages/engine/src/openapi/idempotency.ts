import { REPLAYED_HEADER } from "../idempotency/answer-once.ts";
import { LONGEST_KEY } from "../routes/idempotency-key.ts";

/** What a changing route takes, as OpenAPI says it. */
export const IDEMPOTENCY_PARAMETER = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description:
    "Makes the request safe to repeat: one with the same key and body is stored once and answered the same. A new random UUID for each request will do.",
  schema: { type: "string", minLength: 1, maxLength: LONGEST_KEY, pattern: "^[!-~]+$" },
} as const;

/** What its answer may say. */
export const IDEMPOTENCY_HEADERS = {
  [REPLAYED_HEADER]: {
    description: "`true` when this is the answer that an earlier request with the same key was given.",
    schema: { type: "string", enum: ["true"] },
  },
} as const;
