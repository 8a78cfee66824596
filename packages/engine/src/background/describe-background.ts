import type { ManifestService } from "@appdb/contract/manifest";
import type { Json } from "../kinds/kind.ts";
import { errorResponses } from "../openapi/errors.ts";
import { backgroundOf } from "../routes/route.ts";
import { JOBS_PATH } from "./background-routes.ts";

type JsonObject = { readonly [key: string]: Json };

/** An operation that works in the background: it answers a job in place of what it does. */
export function describeInBackground(operation: Json): Json {
  const { responses, ...rest } = operation as JsonObject & { readonly responses: JsonObject };
  const { "204": _, ...others } = responses;
  return {
    ...rest,
    responses: {
      ...others,
      "200": {
        description: "The job that will do it. Its address tells what has become of it.",
        content: { "application/json": { schema: { $ref: "#/components/schemas/BackgroundJobResponse" } } },
      },
      ...errorResponses(["overloaded", "database_unavailable"]),
    },
  };
}

/** Whether a service has a route that works in the background. */
export function hasBackground(service: ManifestService): boolean {
  return service.routes.some((route) => backgroundOf(route) !== null);
}

const ID = { name: "id", in: "path", required: true, schema: { type: "string", format: "uuid" } } as const;

const STATUS = {
  description: "What has become of the job.",
  headers: { "retry-after": { description: "While it is pending: seconds.", schema: { type: "integer" } } },
  content: { "application/json": { schema: { $ref: "#/components/schemas/JobStatusResponse" } } },
} as const;

/** The address of a service's jobs. */
export const JOB_PATHS: JsonObject = {
  [`${JOBS_PATH}/{id}`]: {
    get: {
      operationId: "job_status_get",
      summary: "Tell what has become of a background job",
      parameters: [ID],
      responses: { "200": STATUS, ...errorResponses(["job_not_found", "database_unavailable"]) },
    },
    delete: {
      operationId: "job_cancel_delete",
      summary: "Cancel a background job",
      parameters: [ID],
      responses: {
        "200": STATUS,
        ...errorResponses(["job_not_found", "job_not_cancellable", "database_unavailable"]),
      },
    },
  },
};

export const JOB_SCHEMAS: JsonObject = {
  BackgroundJobResponse: {
    type: "object",
    properties: {
      id: { type: "string", format: "uuid" },
      job_url: {
        type: "string",
        format: "uri-reference",
        description: "Address of the job. Through a proxy it is relative to the address of the request.",
      },
    },
    required: ["id", "job_url"],
    additionalProperties: false,
  },
  JobStatusResponse: {
    type: "object",
    properties: {
      status: { type: "string", enum: ["pending", "done", "error", "cancelled"] },
      error: { type: ["string", "null"], description: "What went wrong, when the status is `error`" },
      error_detail: { anyOf: [{ $ref: "#/components/schemas/Problem" }, { type: "null" }] },
      result: { description: "What the route would have answered, when the status is `done`" },
    },
    required: ["status", "error", "error_detail", "result"],
    additionalProperties: false,
  },
};
