/**
 * Methods and paths of a database pod's API, on a unix socket, each request with `authorization: Bearer <token>` (bodies: pod.ts).
 * Answers are JSON, errors problem+json. Routes marked `events` answer NDJSON as those of the daemon do: `progress` lines, then
 * exactly one `done` or `error`.
 */
export const POD_ROUTES = {
  health: { method: "GET", path: "/v1/health" },
  /** PodManifestRequest -> `{manifest, imported}`: what app.py of a tree declares, made by the image's Python */
  manifest: { method: "POST", path: "/v1/manifest" },
  /** PodSchemaPlanRequest -> `{plan: SchemaPlan, imported}` */
  schemaPlan: { method: "POST", path: "/v1/schema/plan" },
  /** events; PodSchemaApplyRequest; `done` carries `{plan: SchemaPlan}` as it is after the update */
  schemaApply: { method: "POST", path: "/v1/schema/apply" },
  /** PodTablesCheckRequest -> `{hindrances}`: what keeps a release from being served on the tables as they are */
  tablesCheck: { method: "POST", path: "/v1/schema/check" },
  /** PodTrees: which trees of project files the tables and the work on them still need */
  treeList: { method: "GET", path: "/v1/trees" },
  /** `{tables: DataTable[]}` */
  tableList: { method: "GET", path: "/v1/tables" },
  /** `:table` is a path within the database: `docs`, `reports/docs` */
  tableShow: { method: "GET", path: "/v1/tables/:table" },
  /** `?limit=&cursor=` -> RowPage */
  rowList: { method: "GET", path: "/v1/tables/:table/rows" },
  /** A row, an array, or NDJSON: what an insert route over the whole table takes and answers */
  rowInsert: { method: "POST", path: "/v1/tables/:table/rows" },
  /** `?path=&column=&limit=` -> `{tables: TableErrors[]}`: cells that failed of a table, a folder, or all of the database */
  errorList: { method: "GET", path: "/v1/errors" },
  /** RecomputePlanRequest -> `{plan: RecomputePlan}`; its table is a path within the database */
  recomputePlan: { method: "POST", path: "/v1/recompute/plan" },
  /** events; podRecomputeRequestSchema; `done` carries `{result: RecomputeResult}` */
  recompute: { method: "POST", path: "/v1/recompute" },
  /** `?folder=&all=` -> `{jobs: JobRecord[]}` */
  jobList: { method: "GET", path: "/v1/jobs" },
  /** `{id}`: which may have been the beginning of one -> `{id}` */
  jobCancel: { method: "POST", path: "/v1/jobs/cancel" },
  /** `{role}` -> `{dsn}`: makes a role of PostgreSQL for a service if there is none, and says how it connects. */
  serviceRole: { method: "POST", path: "/v1/service-roles" },
  /** 204; removes the role of a service that is gone, also when there is none. What it owned is the owner's from then on. */
  serviceRoleDrop: { method: "DELETE", path: "/v1/service-roles/:role" },
  /** Ends the pod in order; answers before it is gone. */
  stop: { method: "POST", path: "/v1/stop" },
} as const;

/** The same of a service pod (bodies: pod-spec.ts). */
export const SERVICE_POD_ROUTES = {
  health: { method: "GET", path: "/v1/health" },
  /** `text/plain`: a signed snapshot of keys. 204; 409 for one that is older or not of this database. */
  keys: { method: "PUT", path: "/v1/keys" },
  /** Text for Prometheus: requests, errors and latencies by route, without names of tenants. */
  metrics: { method: "GET", path: "/v1/metrics" },
  /** Tells whoever is linked to look elsewhere, and ends by itself once nothing runs; answers at once. */
  drain: { method: "POST", path: "/v1/drain" },
  /** Ends the pod in order; answers before it is gone. */
  stop: { method: "POST", path: "/v1/stop" },
} as const;
