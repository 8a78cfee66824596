import { ERRORS, type ErrorCode } from "@appdb/contract/errors";
import type { ManifestRoute } from "@appdb/contract/manifest";
import type { Json } from "./openapi-schemas.ts";

/** Errors that a route may answer, by status; several codes may share one. */
export const ROUTE_ERRORS = {
  insert: [
    "invalid_json",
    "invalid_encoding",
    "invalid_request",
    "invalid_idempotency_key",
    "idempotency_mismatch",
    "unsupported_media_type",
    "payload_too_large",
    "request_timeout",
    "unique_violation",
    "schema_changed",
    "function_failed",
    "function_timeout",
    "worker_died",
    "worker_out_of_memory",
    "query_timeout",
    "database_unavailable",
    "overloaded",
    "commit_unknown",
    "disk_full",
  ],
  update: [
    "invalid_json",
    "invalid_encoding",
    "invalid_request",
    "invalid_idempotency_key",
    "idempotency_mismatch",
    "unsupported_media_type",
    "payload_too_large",
    "row_not_found",
    "schema_changed",
    "function_failed",
    "function_timeout",
    "worker_died",
    "worker_out_of_memory",
    "query_timeout",
    "database_unavailable",
    "commit_unknown",
    "disk_full",
    "overloaded",
  ],
  delete: [
    "invalid_json",
    "invalid_encoding",
    "invalid_request",
    "invalid_idempotency_key",
    "idempotency_mismatch",
    "unsupported_media_type",
    "payload_too_large",
    "schema_changed",
    "query_timeout",
    "database_unavailable",
    "commit_unknown",
    "overloaded",
  ],
  compute: [
    "invalid_json",
    "invalid_encoding",
    "invalid_request",
    "unsupported_media_type",
    "payload_too_large",
    "function_failed",
    "function_timeout",
    "worker_died",
    "worker_out_of_memory",
    "query_timeout",
    "database_unavailable",
  ],
  query: [
    "invalid_json",
    "invalid_encoding",
    "invalid_request",
    "schema_changed",
    "function_failed",
    "function_timeout",
    "worker_died",
    "worker_out_of_memory",
    "result_too_large",
    "query_timeout",
    "database_unavailable",
    "overloaded",
  ],
  /** What any handler may be answered with beside what it says itself. */
  handler: [
    "invalid_json",
    "invalid_encoding",
    "function_failed",
    "function_timeout",
    "worker_died",
    "worker_out_of_memory",
    "unsupported_media_type",
    "payload_too_large",
    "invalid_request",
    "overloaded",
    "worker_unavailable",
    "handler_interrupted",
  ],
} as const satisfies Record<ManifestRoute["kind"], readonly ErrorCode[]>;

/** The answers of a route that fails. */
export function errorResponses(codes: readonly ErrorCode[]): Record<string, Json> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) byStatus.set(ERRORS[code].status, [...(byStatus.get(ERRORS[code].status) ?? []), code]);
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
    detail: { type: "string", description: "What happened, with the real values" },
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
