import { ERRORS, type ErrorCode } from "@appdb/contract/errors";
import type { Json } from "../kinds/kind.ts";

// Errors that several kinds of routes can return.

export const JSON_BODY = ["invalid_json", "invalid_encoding", "invalid_request"] as const;
export const BODY = [...JSON_BODY, "unsupported_media_type", "payload_too_large"] as const;
export const PYTHON = ["function_failed", "function_timeout", "worker_died", "worker_out_of_memory"] as const;
/** Errors of files that a route reads where they are: in a store, or at an address. */
const READ_FILES = [
  "media_unreachable",
  "media_denied",
  "media_source_not_allowed",
  "media_store_not_found",
  "media_unavailable",
] as const;
/** Errors of a route over a table with media columns. */
export const MEDIA = ["forbidden", ...READ_FILES, "media_invalid", "media_too_large", "media_store_full"] as const;
/** In addition: errors of a route that takes files in a form. */
export const UPLOADS = ["invalid_form"] as const;
/** Errors of a route that returns a file. */
export const FILE = [...READ_FILES, "media_not_found"] as const;
export const DATABASE = ["query_timeout", "database_unavailable"] as const;
/** In addition to body errors: errors of a route that writes and accepts idempotency keys. */
export const WRITE = [
  "invalid_idempotency_key",
  "idempotency_mismatch",
  "schema_changed",
  ...DATABASE,
  "commit_unknown",
  "overloaded",
] as const;

/** The error responses of a route. */
export function errorResponses(codes: readonly ErrorCode[]): Record<string, Json> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of new Set(codes))
    byStatus.set(ERRORS[code].status, [...(byStatus.get(ERRORS[code].status) ?? []), code]);
  return Object.fromEntries(
    [...byStatus].map(([status, same]) => [
      String(status),
      {
        description: same.map((code) => `\`${code}\`: ${ERRORS[code].title}`).join("; "),
        content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
      },
    ]),
  );
}

export const PROBLEM_SCHEMA: Json = {
  type: "object",
  description: "RFC 9457 problem details",
  properties: {
    type: { type: "string", format: "uri" },
    title: { type: "string" },
    status: { type: "integer" },
    detail: { type: "string", description: "What happened, with the actual values" },
    code: { type: "string", description: "Permanent name of the error" },
    hint: { type: "string", description: "One next step" },
    instance: { type: "string", description: "The request's id, as in the header x-request-id" },
    errors: {
      type: "array",
      items: {
        type: "object",
        properties: { pointer: { type: "string" }, detail: { type: "string" } },
        required: ["pointer", "detail"],
      },
    },
    meta: { type: "object" },
  },
  required: ["type", "title", "status", "detail", "code"],
};
