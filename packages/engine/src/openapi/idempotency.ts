import { REPLAYED_HEADER } from "../idempotency/answer-once.ts";
import { LONGEST_KEY } from "../routes/idempotency-key.ts";

/** The idempotency parameter of a changing route in OpenAPI. */
export const IDEMPOTENCY_PARAMETER = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description:
    "Makes the request safe to retry: one with the same key and body is stored once and gets the same response. Use a new random UUID for each request.",
  schema: { type: "string", minLength: 1, maxLength: LONGEST_KEY, pattern: "^[!-~]+$" },
} as const;

/** Headers of its response. */
export const IDEMPOTENCY_HEADERS = {
  [REPLAYED_HEADER]: {
    description: "`true` when this is the stored response to an earlier request with the same key.",
    schema: { type: "string", enum: ["true"] },
  },
} as const;
