import { get, post, put, remove } from "./api.ts";

/** A database pod's API, on a unix socket, each request with `authorization: Bearer <token>`; pod-api.ts has its schemas. */
export const POD_ROUTES = {
  health: get("/v1/health"),
  /** What app.py of a tree declares, made by the image's Python. */
  manifest: post("/v1/manifest"),
  schemaPlan: post("/v1/schema/plan"),
  /** Answers the plan as it is after the update. */
  schemaApply: post("/v1/schema/apply", { answers: "events" }),
  /** What keeps a release from being served on the tables as they are. */
  tablesCheck: post("/v1/schema/check"),
  /** Which trees of project files the tables and the work on them still need. */
  treeList: get("/v1/trees"),
  tableList: get("/v1/tables"),
  /** `:table` is a path within the database: `docs`, `reports/docs`. */
  tableShow: get("/v1/tables/:table"),
  rowList: get("/v1/tables/:table/rows"),
  /** A row, an array, or NDJSON: what an insert route over the whole table takes and answers. */
  rowInsert: post("/v1/tables/:table/rows", { streams: "application/json" }),
  /** Cells that failed of a table, a folder, or all of the database. */
  errorList: get("/v1/errors"),
  /** Its table is a path within the database. */
  recomputePlan: post("/v1/recompute/plan"),
  recompute: post("/v1/recompute", { answers: "events" }),
  jobList: get("/v1/jobs"),
  /** Takes the beginning of an id too, answers the whole. */
  jobCancel: post("/v1/jobs/cancel"),
  /** Makes a role of PostgreSQL for a service if there is none, and says how it connects. */
  serviceRole: post("/v1/service-roles"),
  /** Removes the role of a service that is gone, also when there is none. What it owned is the owner's from then on. */
  serviceRoleDrop: remove("/v1/service-roles/:role"),
  /** Ends the pod in order; answers before it is gone. */
  stop: post("/v1/stop"),
} as const;

/** The same of a service pod. */
export const SERVICE_POD_ROUTES = {
  health: get("/v1/health"),
  /** A signed snapshot of keys; 409 for one that is older or not of this database. */
  keys: put("/v1/keys", { takes: "text/plain" }),
  /** Requests, errors and latencies by route, without names of tenants. */
  metrics: get("/v1/metrics", { answers: "text" }),
  /** Sends callers that are linked to another instance, and ends once nothing runs; answers at once. */
  drain: post("/v1/drain"),
  /** Ends the pod in order; answers before it is gone. */
  stop: post("/v1/stop"),
} as const;
