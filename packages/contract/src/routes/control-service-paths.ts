import { type ControlRoute, TREE_BODY_BYTES } from "./control-route.ts";

/** The part of CONTROL_ROUTES that concerns hosted services (bodies: control-services.ts). */
export const SERVICE_ROUTES = {
  /** Of all databases, or of `?database=`. */
  serviceList: {
    method: "GET",
    path: "/v1/orgs/:org/services",
    permission: "org.read",
    by_grant: true,
    summary: "List services",
  },
  /** `:service` is a path within the database: `ingest`, `reports/ingest`. */
  serviceShow: {
    method: "GET",
    path: "/v1/orgs/:org/databases/:db/services/:service",
    permission: "org.read",
    by_grant: true,
    summary: "Show a service",
  },
  /** Of the database's own project files, which must be the person's; changes nothing. */
  servicePlan: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/services/plan",
    permission: "service.update",
    by_grant: true,
    summary: "Show what an update of services would do",
    body_bytes: TREE_BODY_BYTES,
  },
  /** Makes a release for each service that changes and has it started. */
  serviceUpdate: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/services/update",
    permission: "service.update",
    by_grant: true,
    summary: "Start services, or move them onto what the database has now",
    body_bytes: TREE_BODY_BYTES,
  },
  servicePrune: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/services/prune",
    permission: "service.update",
    by_grant: true,
    summary: "Stop and forget the services that the application file does not define",
    body_bytes: TREE_BODY_BYTES,
  },
  serviceRestart: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/services/:service/restart",
    permission: "service.update",
    by_grant: true,
    summary: "Restart a service, so that it reads new secrets; no request fails",
  },
  serviceStop: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/services/:service/stop",
    permission: "service.update",
    by_grant: true,
    summary: "Stop a service",
  },
  serviceRetry: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/services/:service/retry",
    permission: "service.update",
    by_grant: true,
    summary: "Start a service that is stopped or FAILED",
  },
  serviceRollback: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/services/:service/rollback",
    permission: "service.update",
    by_grant: true,
    summary: "Roll back a service to a previous release",
  },
  /** What of the service's routes would change, and what of the tables is in the way; nothing is changed. */
  serviceRollbackPlan: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/services/:service/rollback/plan",
    permission: "service.update",
    by_grant: true,
    summary: "Show what a rollback to a previous release would do",
  },
  /** Builds the image of an update that is yet to be asked for, and has it read the application file; nothing that runs changes. */
  preparationBegin: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/preparations",
    permission: "database.update",
    summary: "Build and check what a deployment would bring, without bringing it",
    body_bytes: TREE_BODY_BYTES,
  },
  /** What is to be brought to a database from now on can be undone as one. */
  deployBegin: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/deploys",
    permission: "database.update",
    summary: "Begin a deployment",
  },
  /** To be said while it goes on, each half minute at least: until then nobody undoes it, or begins another. */
  deployAlive: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/deploys/:id/alive",
    permission: "database.update",
    summary: "Report that a deployment continues",
  },
  deployEnd: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/deploys/:id/end",
    permission: "database.update",
    summary: "Say that a deployment has ended",
  },
  deployRollbackPlan: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/deploys/rollback/plan",
    permission: "database.update",
    summary: "Show what undoing the last deployment would do",
  },
  /** To be asked again when its operations have ended, until it begins none. */
  deployRollback: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/deploys/rollback",
    permission: "database.update",
    summary: "Undo the last deployment",
  },
  /** The newest first; the last ten are kept. */
  releaseList: {
    method: "GET",
    path: "/v1/orgs/:org/databases/:db/services/:service/releases",
    permission: "org.read",
    by_grant: true,
    summary: "List the releases of a service",
  },
  serviceLogs: {
    method: "GET",
    path: "/v1/orgs/:org/databases/:db/services/:service/logs",
    permission: "data.read",
    by_grant: true,
    summary: "Read the log of a service as NDJSON",
    answers: "application/x-ndjson",
  },
  /** OpenAPI 3.1, of the release that runs, else of the one that shall run. */
  serviceOpenapi: {
    method: "GET",
    path: "/v1/orgs/:org/databases/:db/services/:service/openapi",
    permission: "org.read",
    by_grant: true,
    summary: "Describe the routes of a service",
  },
  /** For people who look at a page: programs call the service's own address. */
  serviceCall: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/services/:service/call",
    permission: "data.write",
    summary: "Call a route of a service with an API key, and show the answer",
  },
  serviceTraffic: {
    method: "GET",
    path: "/v1/orgs/:org/databases/:db/services/:service/traffic",
    permission: "data.read",
    summary: "Read how often a service was called, how it answered and how fast",
  },
} as const satisfies Record<string, ControlRoute>;
