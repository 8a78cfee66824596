import * as z from "zod";
import { onErrorSchema } from "../jobs.ts";
import { manifestSchema, sourceSchema } from "../manifest.ts";
import { runtimeSchema } from "../runtime.ts";
import { serviceRouteSchema } from "./service-route.ts";

/** Bodies of the local daemon's API; local-api.ts maps them to routes. */

export const appSchema = z.strictObject({
  /** A parsed local target: database name, then folders: `main`, `main/reports`. */
  target: z.string(),
  manifest: manifestSchema,
  runtime: runtimeSchema,
});
export type App = z.infer<typeof appSchema>;

export const healthSchema = z.strictObject({
  version: z.string(),
  pid: z.int(),
  home: z.string(),
  started_at: z.string(),
  postgres: z.enum(["up", "starting", "down"]),
  /** Why its last start failed, until it is up. */
  postgres_failure: z.strictObject({ detail: z.string(), hint: z.string() }).nullable(),
  /** Requests, fills and running services; 0 means that a newer command may replace the daemon. */
  busy: z.int(),
  /** Running services; each counts in `busy` too. */
  services: z.int(),
});
export type DaemonHealth = z.infer<typeof healthSchema>;

export const schemaPlanRequestSchema = z.strictObject({
  target: z.string(),
  manifest: manifestSchema,
  /** With a runtime, the plan shows new values of recomputed columns for a few rows. */
  runtime: runtimeSchema.nullable().default(null),
  /** Also recomputes values from previous code of the application's functions. */
  recompute: z.boolean().default(false),
  /** As for an update. */
  take_over: z.boolean().default(false),
});
export const schemaApplyRequestSchema = z.strictObject({
  ...appSchema.shape,
  catalog_version: z.int(),
  allow_destructive: z.boolean(),
  recompute: z.boolean().default(false),
  /** The handling of failed cells in a new or changed computed column: end the update's fill, or stay null with the
   *  error. */
  on_error: onErrorSchema.default("abort"),
  /** Also changes tables of another project, and takes them over. */
  take_over: z.boolean().default(false),
});

/** Drops the target's tables that the manifest does not declare, except those of other projects; `ops` of the
 *  returned plan names them. */
export const schemaPruneRequestSchema = z.strictObject({
  target: z.string(),
  manifest: manifestSchema,
  /** Folder of the caller's project. */
  project_root: z.string(),
  /** The version of the shown plan; null only shows the drops. */
  catalog_version: z.int().nullable(),
});

/** The request of `recompute`; no columns means all computed ones. */
export const recomputePlanRequestSchema = z.strictObject({
  /** `main/docs` */
  table: z.string(),
  columns: z.array(z.string()),
  cascade: z.boolean(),
  on_error: onErrorSchema,
  errors_only: z.boolean(),
});
export const recomputeRequestSchema = z.strictObject({
  ...recomputePlanRequestSchema.shape,
  /** Null: that of the table's last update. */
  runtime: runtimeSchema.nullable(),
  /** The declarations of the runtime's application, which identify the code of its functions. Null if the runtime is
   *  null. */
  manifest: manifestSchema.nullable().default(null),
});
export type RecomputePlanRequest = z.infer<typeof recomputePlanRequestSchema>;
export type RecomputeRequest = z.infer<typeof recomputeRequestSchema>;

/** One line of an `events` response. Rows of a fill: done and total, once a second. */
export const progressSchema = z.strictObject({
  event: z.literal("progress"),
  /** The id of the job that computes the column. */
  job: z.string(),
  table: z.string(),
  column: z.string(),
  rows_done: z.int(),
  rows_total: z.int(),
  /** Cells that got an error so far. */
  errors: z.int(),
});
export type Progress = z.infer<typeof progressSchema>;

export const servicePlanRequestSchema = z.strictObject({
  ...appSchema.shape,
  service: z.string().nullable(),
  port: z.int().min(1).max(65535).nullable(),
});
export const serviceApplyRequestSchema = z.strictObject({
  ...servicePlanRequestSchema.shape,
  allow_destructive: z.boolean(),
});

/** Stops and removes the target's services that the manifest does not define; `ops` of the returned plan names them. */
export const servicePruneRequestSchema = z.strictObject({ ...appSchema.shape, dry_run: z.boolean() });

export const queryQuestionSchema = z.strictObject({
  /** A query's name or id. */
  query: z.string(),
  /** Values in the form of a URL. */
  params: z.record(z.string(), z.string()),
  analyze: z.boolean(),
});
export const queryExplainRequestSchema = z.strictObject({
  target: z.string(),
  manifest: manifestSchema,
  ...queryQuestionSchema.shape,
});
export type QueryExplainRequest = z.infer<typeof queryExplainRequestSchema>;

/** The explanation of a query. */
export const queryExplanationSchema = z.strictObject({
  query: z.string(),
  source: sourceSchema,
  /** In execution order; each one after the first reads the rows that Python computed. */
  statements: z.array(z.string()),
  parts: z.array(
    z.strictObject({
      clause: z.string(),
      runs_in: z.enum(["SQL", "Python"]),
      what: z.string(),
      /** Why Python computes it. */
      why: z.string().nullable(),
    }),
  ),
  /** PostgreSQL's plan of the first statement, line by line. */
  plan: z.array(z.string()),
});
export type QueryExplanation = z.infer<typeof queryExplanationSchema>;

export const LOCAL_SERVICE_STATES = ["STARTING", "AVAILABLE", "STOPPING", "STOPPED", "FAILED"] as const;

export const serviceRecordSchema = z.strictObject({
  /** The name in the file, as in plans. With `catalog_path` before it, the name in commands: `main/ingest`. */
  name: z.string(),
  /** The target that it serves: `main`, `main/reports`. */
  catalog_path: z.string(),
  endpoint: z.string().nullable(),
  port: z.int(),
  state: z.enum(LOCAL_SERVICE_STATES),
  /** Why it is FAILED, for people; null otherwise. */
  error: z.string().nullable(),
  /** The hint for that error; absent if unknown. */
  hint: z.string().optional(),
  restarts: z.int(),
  pid: z.int().nullable(),
  started_at: z.string().nullable(),
  app_file: z.string(),
  project_root: z.string(),
  routes: z.array(serviceRouteSchema),
  log_file: z.string(),
});
export type ServiceRecord = z.infer<typeof serviceRecordSchema>;

/** A local database in `cli db list --local`. */
export const localDatabaseSchema = z.strictObject({
  name: z.string(),
  tables: z.int(),
  views: z.int(),
  /** The size of its rows and indexes. */
  bytes: z.number(),
  /** The size of the files in its own media store. */
  media_bytes: z.number(),
  /** Folders of the projects that own its tables. */
  projects: z.array(z.string()),
  services: z.array(z.strictObject({ name: z.string(), state: z.enum(LOCAL_SERVICE_STATES) })),
});
export type LocalDatabase = z.infer<typeof localDatabaseSchema>;

/** A database that is deleted when a process of this machine ends: that of a test. */
export const scratchCreateRequestSchema = z.strictObject({
  name: z.string(),
  /** Its process. */
  pid: z.int().min(1),
  /** A scratch database whose tables and rows it gets; its connections end. Null: it is empty. */
  copy_of: z.string().nullable(),
});
export type ScratchCreateRequest = z.infer<typeof scratchCreateRequestSchema>;

export const databaseCreateRequestSchema = z.strictObject({
  name: z.string(),
  if_exists: z.enum(["error", "ignore"]).default("error"),
});
export const databaseDeleteRequestSchema = z.strictObject({ name: z.string(), dry_run: z.boolean() });

/** Everything that is deleted with a local database. */
export const localDeletionSchema = z.strictObject({
  name: z.string(),
  tables: z.array(z.strictObject({ path: z.string(), rows: z.int() })),
  /** Stopped services, which are removed. */
  services: z.array(z.string()),
});
export type LocalDeletion = z.infer<typeof localDeletionSchema>;

export const openTargetRequestSchema = z.strictObject({
  ...appSchema.shape,
  /** The services of the manifest that `service run` serves. */
  services: z.array(z.string()),
  /** The process of that command. Other projects cannot serve its services while it runs. */
  pid: z.int().min(1),
});
/** Response of `targets/open`: how a foreground service connects to its database. */
export const openTargetSchema = z.strictObject({ dsn: z.string(), catalog_version: z.int() });
export type TargetConnection = z.infer<typeof openTargetSchema>;
