import type { ManifestService } from "@appdb/contract/manifest";
import type { Json } from "../kinds/kind.ts";
import { errorResponses } from "../openapi/errors.ts";
import { backgroundOf } from "../routes/route.ts";
import { JOBS_PATH } from "./background-routes.ts";

type JsonObject = { readonly [key: string]: Json };

/** A background operation: it responds with a job instead of the result. */
export function describeInBackground(operation: Json): Json {
  const { responses, ...rest } = operation as JsonObject & { readonly responses: JsonObject };
  const { "204": _, ...others } = responses;
  return {
    ...rest,
    responses: {
      ...others,
      "200": {
        description: "The job that runs the request. Its URL reports the status.",
        content: { "application/json": { schema: { $ref: "#/components/schemas/BackgroundJobResponse" } } },
      },
      ...errorResponses(["overloaded", "database_unavailable"]),
    },
  };
}

/** Whether a service has a background route. */
export function hasBackground(service: ManifestService): boolean {
  return service.routes.some((route) => backgroundOf(route) !== null);
}

const ID = { name: "id", in: "path", required: true, schema: { type: "string", format: "uuid" } } as const;

const STATUS = {
  description: "The status of the job.",
  headers: {
    "retry-after": { description: "While it is pending: seconds until the next poll.", schema: { type: "integer" } },
  },
  content: { "application/json": { schema: { $ref: "#/components/schemas/JobStatusResponse" } } },
} as const;

/** The job path of a service. */
export const JOB_PATHS: JsonObject = {
  [`${JOBS_PATH}/{id}`]: {
    get: {
      operationId: "job_status_get",
      summary: "Get the status of a background job",
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
        description: "URL of the job. Behind a proxy it is relative to the URL of the request.",
      },
    },
    required: ["id", "job_url"],
    additionalProperties: false,
  },
  JobStatusResponse: {
    type: "object",
    properties: {
      status: { type: "string", enum: ["pending", "done", "error", "cancelled"] },
      error: { type: ["string", "null"], description: "The error, when the status is `error`" },
      error_detail: { anyOf: [{ $ref: "#/components/schemas/Problem" }, { type: "null" }] },
      result: { description: "The response of the route, when the status is `done`" },
    },
    required: ["status", "error", "error_detail", "result"],
    additionalProperties: false,
  },
};
