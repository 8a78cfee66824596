import { get, post } from "./api.ts";

/** The local daemon's API, on loopback; local-api.ts has its schemas. Each request shows the home's token and the client's version. */
export const LOCAL_ROUTES = {
  health: get("/v1/health"),
  schemaPlan: post("/v1/schema/plan"),
  /** Answers the plan as it is after the update. */
  schemaApply: post("/v1/schema/apply", { answers: "events" }),
  /** The `ops` of the plan are the tables dropped, or to be dropped without a version. */
  schemaPrune: post("/v1/schema/prune"),
  /** Makes sure that the tables are what the manifest says, `schema_mismatch` otherwise. */
  openTarget: post("/v1/targets/open"),
  queryExplain: post("/v1/queries/explain"),
  servicePlan: post("/v1/services/plan"),
  /** Answers the plan after the update; waits until each started service is AVAILABLE or FAILED. */
  serviceApply: post("/v1/services/apply", { answers: "events" }),
  /** The `ops` of the plan are the services dropped, or to be dropped with `dry_run`. */
  servicePrune: post("/v1/services/prune"),
  recomputePlan: post("/v1/recompute/plan"),
  /** When its client leaves, the job continues. */
  recompute: post("/v1/recompute", { answers: "events" }),
  errors: get("/v1/errors"),
  jobList: get("/v1/jobs"),
  jobCancel: post("/v1/jobs/cancel"),
  serviceList: get("/v1/services"),
  serviceRestart: post("/v1/services/restart"),
  serviceStop: post("/v1/services/stop"),
  serviceLogs: get("/v1/services/logs", { answers: "lines" }),
  databaseList: get("/v1/databases"),
  databaseDelete: post("/v1/databases/delete"),
  /** Ends the daemon, its services and its PostgreSQL; answers before it is gone. */
  stop: post("/v1/stop"),
} as const;
