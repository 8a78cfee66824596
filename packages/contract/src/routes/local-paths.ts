/**
 * Methods and paths of the local daemon's API (bodies: local.ts). A file of its own because the command needs the paths
 * without the schemas: loading zod costs it a quarter of its start.
 */
export const LOCAL_ROUTES = {
  health: { method: "GET", path: "/v1/health" },
  schemaPlan: { method: "POST", path: "/v1/schema/plan" },
  /** events; `done` carries `{plan: SchemaPlan}` as it is after the update */
  schemaApply: { method: "POST", path: "/v1/schema/apply" },
  /** `{plan: SchemaPlan}`; its `ops` are the tables dropped, or to be dropped without a version */
  schemaPrune: { method: "POST", path: "/v1/schema/prune" },
  /** makes sure that the tables are what the manifest says, `schema_mismatch` otherwise */
  openTarget: { method: "POST", path: "/v1/targets/open" },
  /** QueryExplainRequest -> QueryExplanation */
  queryExplain: { method: "POST", path: "/v1/queries/explain" },
  servicePlan: { method: "POST", path: "/v1/services/plan" },
  /** `{plan: ServicePlan}` after the update; waits until each started service is AVAILABLE or FAILED */
  serviceApply: { method: "POST", path: "/v1/services/apply" },
  /** `{plan: ServicePlan}`; its `ops` are the services dropped, or to be dropped with `dry_run` */
  servicePrune: { method: "POST", path: "/v1/services/prune" },
  /** `{table, columns, ...}` -> `{plan: RecomputePlan}` */
  recomputePlan: { method: "POST", path: "/v1/recompute/plan" },
  /** events; `done` carries `{result: RecomputeResult}` */
  recompute: { method: "POST", path: "/v1/recompute" },
  /** `?target=main&table=docs&column=x&limit=100`; `{tables: TableErrors[]}` */
  errors: { method: "GET", path: "/v1/errors" },
  /** `?target=main&all=1`; `{jobs: JobRecord[]}` */
  jobList: { method: "GET", path: "/v1/jobs" },
  /** `{target, id}` -> `{id}` */
  jobCancel: { method: "POST", path: "/v1/jobs/cancel" },
  /** `?target=main`; `{services: ServiceRecord[]}` */
  serviceList: { method: "GET", path: "/v1/services" },
  /** `{name}` -> ServiceRecord */
  serviceRestart: { method: "POST", path: "/v1/services/restart" },
  serviceStop: { method: "POST", path: "/v1/services/stop" },
  /** `?name=main/ingest&tail=200&follow=1`; NDJSON lines `{event:"log", line}` */
  serviceLogs: { method: "GET", path: "/v1/services/logs" },
  /** `{databases: LocalDatabase[]}` */
  databaseList: { method: "GET", path: "/v1/databases" },
  /** `{name, dry_run}` -> LocalDeletion */
  databaseDelete: { method: "POST", path: "/v1/databases/delete" },
  stop: { method: "POST", path: "/v1/stop" },
} as const;
