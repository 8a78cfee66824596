import * as z from "zod";
import { outdatedServiceSchema } from "./jobs.ts";

/** Plans of `schema diff` and `service diff`; `--json` prints this document. */
/**
 * The `details` of an operation on a column, in addition to types and expressions. `recompute`: the effect of computing
 * it for all rows, `{rows, columns, estimate_s, sampled, samples: [{key, old, new, error}], note}`. `misfits`: values
 * that a narrower definition could not keep, `[{reason, rows, examples: [{key, value}]}]`. `renamed_from`: its current
 * name.
 */
export const opSchema = z.strictObject({
  name: z.string().nullable(),
  op: z.enum(["add", "drop", "alter"]),
  severity: z.enum(["additive", "destructive", "unsupported", "blocked"]),
  description: z.string(),
  requires_restart: z.boolean(),
  status: z.enum(["applied", "skipped", "refused", "failed"]).nullable(),
  target: z.enum(["column", "index", "table", "folder", "service", "route", "project"]),
  details: z.record(z.string(), z.unknown()),
  destructive: z.boolean(),
});
export type PlanOp = z.infer<typeof opSchema>;

export const tablePlanSchema = z.strictObject({
  path: z.string(),
  model_cls: z.string(),
  kind: z.enum(["table", "view"]),
  exists: z.boolean(),
  resolution: z.enum(["up_to_date", "create", "update_additive", "update_destructive", "unsupported"]),
  ops: z.array(opSchema),
  status: z.enum(["applied", "skipped", "refused", "failed"]).nullable(),
  destructive: z.boolean(),
  /** Number of failed computed cells of the table (`cli errors`). */
  error_count: z.int(),
  /** Folder of the other local project that owns the table. Absent for tables of the caller's project, and hosted
   *  ones. */
  project: z.string().optional(),
});
export type TablePlan = z.infer<typeof tablePlanSchema>;

/** A computed column with values from previous code of a function. Nothing is recomputed without a request. */
export const staleColumnSchema = z.strictObject({
  table: z.string(),
  /** Null for the rows of a view. */
  column: z.string().nullable(),
  /** Ids of the functions whose code, or a module of theirs, changed. */
  functions: z.array(z.string()),
  /** The command that recomputes it. */
  command: z.string(),
});
export type StaleColumn = z.infer<typeof staleColumnSchema>;

/** Unfinished work of an earlier update; a new update waits for it. */
export const openJobSchema = z.strictObject({
  id: z.string(),
  kind: z.string(),
  table: z.string(),
  columns: z.array(z.string()),
  rows_done: z.int(),
  rows_total: z.int().nullable(),
});
export type OpenJob = z.infer<typeof openJobSchema>;

/** A running service with routes that an update of the tables breaks. */
const brokenServiceSchema = z.strictObject({
  service: z.string(),
  tables: z.array(z.string()),
  /** The file of its last `service update`. */
  app_file: z.string(),
  /** Folder of its project; null for the caller's project. */
  project_root: z.string().nullable(),
  /** Whether that file still defines it, as far as the plan's file shows. */
  is_defined: z.boolean(),
  /** Whether its next update also breaks its callers. */
  is_destructive: z.boolean(),
});
export type BrokenService = z.infer<typeof brokenServiceSchema>;

export const schemaPlanSchema = z.strictObject({
  app_file: z.string(),
  target: z.string(),
  /** The catalog version of the plan. Apply refuses another version (`catalog_moved`). */
  catalog_version: z.int(),
  tables: z.array(tablePlanSchema),
  /** Tables of the target that the file does not declare. */
  extras: z.array(z.string()),
  /** The operations of a prune: a drop for each of `extras`. Empty for diff and update, whose operations are per
   *  table. */
  ops: z.array(opSchema),
  stale: z.array(staleColumnSchema),
  jobs: z.array(openJobSchema),
  /** Running services that cannot use some tables until they are updated too. */
  breaks: z.array(brokenServiceSchema).optional(),
  /** Running services that compute values by other code than the file has. Only in local plans. */
  outdated: z.array(outdatedServiceSchema).optional(),
  /** The other local databases, if the target's does not exist yet. */
  other_databases: z.array(z.string()).optional(),
  status: z.enum(["applied", "skipped", "refused", "failed"]).nullable(),
  /** The tables match the file; for an applied update, after it. */
  in_agreement: z.boolean(),
  summary: z.strictObject({
    up_to_date: z.int(),
    create: z.int(),
    update_additive: z.int(),
    update_destructive: z.int(),
    unsupported: z.int(),
    extras: z.int(),
    destructive: z.int(),
  }),
});
export type SchemaPlan = z.infer<typeof schemaPlanSchema>;

export const servicePlanItemSchema = z.strictObject({
  name: z.string(),
  catalog_path: z.string(),
  exists: z.boolean(),
  state: z.string().nullable(),
  endpoint: z.string().nullable(),
  resolution: z.enum(["up_to_date", "create", "update_additive", "update_destructive", "blocked"]),
  ops: z.array(opSchema),
  status: z.enum(["applied", "skipped", "refused", "failed"]).nullable(),
  destructive: z.boolean(),
  requires_restart: z.boolean(),
});
export type ServicePlanItem = z.infer<typeof servicePlanItemSchema>;

export const servicePlanSchema = z.strictObject({
  app_file: z.string(),
  target: z.string(),
  services: z.array(servicePlanItemSchema),
  extras: z.array(z.string()),
  ops: z.array(opSchema),
  status: z.enum(["applied", "skipped", "refused", "failed"]).nullable(),
  in_agreement: z.boolean(),
  summary: z.strictObject({
    up_to_date: z.int(),
    create: z.int(),
    update_additive: z.int(),
    update_destructive: z.int(),
    extras: z.int(),
    blocked: z.int(),
    destructive: z.int(),
    restarts: z.int(),
  }),
});
export type ServicePlan = z.infer<typeof servicePlanSchema>;
