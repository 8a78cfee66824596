import { get, patch, post } from "./api.ts";

/** The local daemon's API, on loopback; local-api.ts has its schemas. Each request has the home's token and the
 *  client's version. */
export const LOCAL_ROUTES = {
  health: get("/v1/health"),
  /** The limits of services, as the daemon read them when it started. */
  limitList: get("/v1/limits"),
  schemaPlan: post("/v1/schema/plan", { is_safe: true }),
  /** Returns the plan after the update. */
  schemaApply: post("/v1/schema/apply", { answers: "events" }),
  /** The `ops` of the plan are the dropped tables; without a version, those that would be dropped. */
  schemaPrune: post("/v1/schema/prune"),
  /** Checks that the tables match the manifest, and fails with `schema_mismatch` otherwise. */
  openTarget: post("/v1/targets/open", { is_safe: true }),
  queryExplain: post("/v1/queries/explain", { is_safe: true }),
  servicePlan: post("/v1/services/plan", { is_safe: true }),
  /** Returns the plan after the update; waits until each started service is AVAILABLE or FAILED. */
  serviceApply: post("/v1/services/apply", { answers: "events" }),
  /** The `ops` of the plan are the dropped services; with `dry_run`, those that would be dropped. */
  servicePrune: post("/v1/services/prune"),
  recomputePlan: post("/v1/recompute/plan", { is_safe: true }),
  /** When its client disconnects, the job continues. */
  recompute: post("/v1/recompute", { answers: "events" }),
  errors: get("/v1/errors"),
  jobList: get("/v1/jobs"),
  jobCancel: post("/v1/jobs/cancel"),
  /** `:db` is a local database. Addresses begin with a path of the daemon's. */
  mediaList: get("/v1/media/:db"),
  mediaUsage: get("/v1/media/:db/usage"),
  mediaRemove: post("/v1/media/:db/remove"),
  mediaPrune: post("/v1/media/:db/prune"),
  mediaRead: post("/v1/media/:db/read", { is_safe: true }),
  mediaWrite: post("/v1/media/:db/write", { is_safe: true }),
  /** Tables and rows of a local database. */
  tableList: get("/v1/databases/:db/tables"),
  tableShow: get("/v1/databases/:db/tables/:table"),
  rowList: get("/v1/databases/:db/tables/:table/rows"),
  rowShow: get("/v1/databases/:db/tables/:table/row"),
  rowCount: get("/v1/databases/:db/tables/:table/count"),
  queryRun: post("/v1/databases/:db/query", { is_safe: true, answers: "rows" }),
  sqlRun: post("/v1/databases/:db/sql", { is_safe: true, answers: "rows" }),
  /** A session of PostgreSQL's protocol, which lives as long as the response (psql.ts). */
  psqlRead: post("/v1/databases/:db/psql", { is_safe: true, answers: "lines" }),
  psqlWrite: post("/v1/databases/:db/psql/write", { is_safe: true, answers: "lines" }),
  /** A connection of a session: the body has the client's bytes, the response those of PostgreSQL. */
  psqlConnect: post("/v1/databases/:db/psql/:session", {
    is_safe: true,
    streams: "application/octet-stream",
    answers: "tunnel",
  }),
  /** A row, an array, or NDJSON: the same input and output as an insert route over the whole table. */
  rowInsert: post("/v1/databases/:db/tables/:table/rows", { streams: "application/json" }),
  rowCompute: post("/v1/databases/:db/tables/:table/compute", { streams: "application/json", is_safe: true }),
  /** The bodies of these two are in data-writes.ts. Handlers read them unparsed, for the digits of large integers. */
  rowUpdate: patch("/v1/databases/:db/tables/:table/rows", { streams: "application/json" }),
  rowDelete: post("/v1/databases/:db/tables/:table/rows/delete", { streams: "application/json" }),
  tableDefinition: get("/v1/databases/:db/tables/:table/definition"),
  historyList: get("/v1/databases/:db/history"),
  /** Makes a missing database for a new table or folder. When its client disconnects, fills continue. */
  tableChange: post("/v1/databases/:db/changes", { answers: "events" }),
  /** By the address in a row, which needs no token of the home. */
  fileShow: get("/v1/databases/:db/file", { answers: "file" }),
  serviceList: get("/v1/services"),
  serviceRestart: post("/v1/services/restart"),
  serviceStop: post("/v1/services/stop"),
  serviceLogs: get("/v1/services/logs", { answers: "lines" }),
  databaseList: get("/v1/databases"),
  /** Creates an empty database. */
  databaseCreate: post("/v1/databases/create"),
  databaseDelete: post("/v1/databases/delete"),
  /** Makes a scratch database, which is deleted with its process. */
  scratchCreate: post("/v1/scratch/create"),
  /** Deletes one before its process ends. Responds before it is gone. */
  scratchDelete: post("/v1/scratch/delete"),
  /** Stops the daemon, its services and its PostgreSQL; responds before that. */
  stop: post("/v1/stop"),
} as const;
