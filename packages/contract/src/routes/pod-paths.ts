import { get, patch, post, put, remove } from "./api.ts";

/** A database pod's API, on a unix socket, each request with `authorization: Bearer <token>`; pod-api.ts has its
 *  schemas. */
export const POD_ROUTES = {
  health: get("/v1/health"),
  /** The manifest of app.py in a tree, made by the image's Python. */
  manifest: post("/v1/manifest"),
  schemaPlan: post("/v1/schema/plan"),
  /** Returns the plan after the update. */
  schemaApply: post("/v1/schema/apply", { answers: "events" }),
  schemaPrune: post("/v1/schema/prune"),
  queryExplain: post("/v1/queries/explain"),
  /** The differences that prevent a release from running on the current tables. */
  tablesCheck: post("/v1/schema/check"),
  /** The trees of project files that the tables and their jobs still need. */
  treeList: get("/v1/trees"),
  /** Gives the current tree to tables whose functions were added when the database had no project files. */
  treeUse: put("/v1/trees"),
  tableList: get("/v1/tables"),
  /** `:table` is a path within the database: `docs`, `reports/docs`. */
  tableShow: get("/v1/tables/:table"),
  rowList: get("/v1/tables/:table/rows"),
  rowShow: get("/v1/tables/:table/row"),
  rowCount: get("/v1/tables/:table/count"),
  tableDefinition: get("/v1/tables/:table/definition"),
  historyList: get("/v1/history"),
  /** Changes one table or folder. */
  tableChange: post("/v1/changes", { answers: "events" }),
  /** Functions of a running program, under a lease. */
  programStore: post("/v1/programs"),
  programRenew: put("/v1/programs/:program"),
  programEnd: remove("/v1/programs/:program"),
  queryRun: post("/v1/query", { answers: "rows" }),
  sqlRun: post("/v1/sql", { answers: "rows" }),
  /** A session of PostgreSQL's protocol, which lives as long as the response (psql.ts). */
  psqlRead: post("/v1/psql", { answers: "lines" }),
  psqlWrite: post("/v1/psql/write", { answers: "lines" }),
  /** A connection of a session: the body has the client's bytes, the response those of PostgreSQL. */
  psqlConnect: post("/v1/psql/:session", { streams: "application/octet-stream", answers: "tunnel" }),
  /** A row, an array, or NDJSON: the same input and output as an insert route over the whole table. */
  rowInsert: post("/v1/tables/:table/rows", { streams: "application/json" }),
  rowCompute: post("/v1/tables/:table/compute", { streams: "application/json" }),
  /** The bodies of these two are in data-writes.ts. Handlers read them unparsed, for the digits of large integers. */
  rowUpdate: patch("/v1/tables/:table/rows", { streams: "application/json" }),
  rowDelete: post("/v1/tables/:table/rows/delete", { streams: "application/json" }),
  /** Addresses begin with a path of the gateway's. */
  mediaList: get("/v1/media"),
  mediaUsage: get("/v1/media/usage"),
  mediaRemove: post("/v1/media/remove"),
  mediaPrune: post("/v1/media/prune"),
  mediaRead: post("/v1/media/read"),
  mediaWrite: post("/v1/media/write"),
  /** The content of a media cell, by the token in its address. Also takes a range. */
  fileShow: get("/v1/file", { answers: "file" }),
  /** Failed cells of a table, a folder, or the whole database. */
  errorList: get("/v1/errors"),
  /** Its table is a path within the database. */
  recomputePlan: post("/v1/recompute/plan"),
  recompute: post("/v1/recompute", { answers: "events" }),
  jobList: get("/v1/jobs"),
  /** Also takes a prefix of an id; returns the whole id. */
  jobCancel: post("/v1/jobs/cancel"),
  /** Creates a PostgreSQL role for a service if it is missing, and returns its DSN. */
  serviceRole: post("/v1/service-roles"),
  /** Drops the role of a removed service, even if it is missing. Its objects then belong to the owner. */
  serviceRoleDrop: remove("/v1/service-roles/:role"),
  /** Stops the pod in order; responds before that. */
  stop: post("/v1/stop"),
} as const;

/** The same for a service pod. */
export const SERVICE_POD_ROUTES = {
  health: get("/v1/health"),
  /** A signed snapshot of keys; 409 for one that is older or of another database. */
  keys: put("/v1/keys", { takes: "text/plain" }),
  /** Requests, errors and latencies by route, without names of tenants. */
  metrics: get("/v1/metrics", { answers: "text" }),
  /** Sends linked callers to another instance, and ends after the last request; responds at once. */
  drain: post("/v1/drain"),
  /** Stops the pod in order; responds before that. */
  stop: post("/v1/stop"),
} as const;
