import * as z from "zod";
import { onErrorSchema } from "../jobs.ts";
import { manifestSchema, sourceSchema } from "../manifest.ts";
import { runtimeSchema } from "../runtime.ts";
import { serviceRouteSchema } from "./service-route.ts";

/** Bodies of the local daemon's API; local-api.ts says which route takes and answers them. */

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
  /** Requests, fills and running services; 0 means that a newer command may replace the daemon. */
  busy: z.int(),
  /** Those that run; each is in `busy` too. */
  services: z.int(),
});
export type DaemonHealth = z.infer<typeof healthSchema>;

export const schemaPlanRequestSchema = z.strictObject({
  target: z.string(),
  manifest: manifestSchema,
  /** With it the plan shows what columns that would be recomputed become, of a few rows. */
  runtime: runtimeSchema.nullable().default(null),
  /** Also recompute what was computed by former code of the application's functions. */
  recompute: z.boolean().default(false),
  /** As for an update. */
  take_over: z.boolean().default(false),
});
export const schemaApplyRequestSchema = z.strictObject({
  ...appSchema.shape,
  catalog_version: z.int(),
  allow_destructive: z.boolean(),
  recompute: z.boolean().default(false),
  /** What a failing cell of a new or changed computed column does: ends the update's fill, or stays null with its error. */
  on_error: onErrorSchema.default("abort"),
  /** Also change tables of another project, which become this one's. */
  take_over: z.boolean().default(false),
});

/** Drops the target's tables that the manifest does not declare, but no other project's; `ops` of the answered plan names them. */
export const schemaPruneRequestSchema = z.strictObject({
  target: z.string(),
  manifest: manifestSchema,
  /** Folder of the caller's project. */
  project_root: z.string(),
  /** The version that the drops were shown for; null only shows them. */
  catalog_version: z.int().nullable(),
});

/** What `recompute` asks for; without columns all computed ones. */
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
  /** Null: as at the last update of the table. */
  runtime: runtimeSchema.nullable(),
  /** What the application declares that the runtime is of: it says what the code of the functions is. Null with the other. */
  manifest: manifestSchema.nullable().default(null),
});
export type RecomputePlanRequest = z.infer<typeof recomputePlanRequestSchema>;
export type RecomputeRequest = z.infer<typeof recomputeRequestSchema>;

/** One line of an `events` answer. Rows of a fill: done and total, once a second. */
export const progressSchema = z.strictObject({
  event: z.literal("progress"),
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

/** Stops and forgets the target's services that the manifest does not define; `ops` of the answered plan names them. */
export const servicePruneRequestSchema = z.strictObject({ ...appSchema.shape, dry_run: z.boolean() });

export const queryExplainRequestSchema = z.strictObject({
  target: z.string(),
  manifest: manifestSchema,
  /** A query's name or id. */
  query: z.string(),
  /** Values as a URL would carry them. */
  params: z.record(z.string(), z.string()),
  analyze: z.boolean(),
});
export type QueryExplainRequest = z.infer<typeof queryExplainRequestSchema>;

/** How a query is answered. */
export const queryExplanationSchema = z.strictObject({
  query: z.string(),
  source: sourceSchema,
  /** In the order in which they run; each one after the first reads what Python made of the rows before. */
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
  /** As the file calls it, here as in plans; behind `catalog_path` it is what commands take: `main/ingest`. */
  name: z.string(),
  /** The target that it serves: `main`, `main/reports`. */
  catalog_path: z.string(),
  endpoint: z.string().nullable(),
  port: z.int(),
  state: z.enum(LOCAL_SERVICE_STATES),
  /** Why it is FAILED, for a person; null otherwise. */
  error: z.string().nullable(),
  /** What to do about that; absent where it is not known. */
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

/** A local database as `cli db list --local` shows it. */
export const localDatabaseSchema = z.strictObject({
  name: z.string(),
  tables: z.int(),
  bytes: z.number(),
  /** Folders of the projects that its tables belong to. */
  projects: z.array(z.string()),
  services: z.array(z.strictObject({ name: z.string(), state: z.enum(LOCAL_SERVICE_STATES) })),
});
export type LocalDatabase = z.infer<typeof localDatabaseSchema>;

export const databaseDeleteRequestSchema = z.strictObject({ name: z.string(), dry_run: z.boolean() });

/** What goes with a local database. */
export const localDeletionSchema = z.strictObject({
  name: z.string(),
  tables: z.array(z.strictObject({ path: z.string(), rows: z.int() })),
  /** Stopped ones, which are forgotten. */
  services: z.array(z.string()),
});
export type LocalDeletion = z.infer<typeof localDeletionSchema>;

/** Answer of `targets/open`: how a foreground service reaches its database. */
export const openTargetSchema = z.strictObject({ dsn: z.string(), catalog_version: z.int() });
export type TargetConnection = z.infer<typeof openTargetSchema>;
