import * as z from "zod";

/** Plans as `schema diff` and `service diff` print them; `--json` is this very document. Shapes follow the field (reference 3.4, 4.3). */
/**
 * What `details` of an operation on a column may hold beside its types and expressions:
 * `recompute`: what computing it for all rows means, `{rows, columns, estimate_s, sampled, samples: [{key, old, new, error}], note}`;
 * `misfits`: values that a narrower definition could not keep, `[{reason, rows, examples: [{key, value}]}]`;
 * `renamed_from`: the name that it has.
 */
export const opSchema = z.strictObject({
  name: z.string().nullable(),
  op: z.enum(["add", "drop", "alter"]),
  severity: z.enum(["additive", "destructive", "unsupported", "blocked"]),
  description: z.string(),
  requires_restart: z.boolean(),
  status: z.enum(["applied", "skipped", "refused", "failed"]).nullable(),
  target: z.enum(["column", "index", "table", "service", "route", "project"]),
  details: z.record(z.string(), z.unknown()),
  destructive: z.boolean(),
});
export type PlanOp = z.infer<typeof opSchema>;

export const tablePlanSchema = z.strictObject({
  path: z.string(),
  model_cls: z.string(),
  kind: z.literal("table"),
  exists: z.boolean(),
  resolution: z.enum(["up_to_date", "create", "update_additive", "update_destructive", "unsupported"]),
  ops: z.array(opSchema),
  status: z.enum(["applied", "skipped", "refused", "failed"]).nullable(),
  destructive: z.boolean(),
  /** Computed cells of the table that failed (`cli errors`). */
  error_count: z.int(),
  /** Folder of the other local project that the table belongs to. Absent for tables of the caller's project, and hosted ones. */
  project: z.string().optional(),
});
export type TablePlan = z.infer<typeof tablePlanSchema>;

/** A computed column whose values come from former code of a function; nothing is recomputed unasked. */
export const staleColumnSchema = z.strictObject({
  table: z.string(),
  column: z.string(),
  /** Ids of the functions whose code changed, or that of a module which they use. */
  functions: z.array(z.string()),
  /** What to type to compute it again. */
  command: z.string(),
});
export type StaleColumn = z.infer<typeof staleColumnSchema>;

/** Work of an earlier update that goes on; an update waits for it. */
export const openJobSchema = z.strictObject({
  id: z.string(),
  kind: z.string(),
  table: z.string(),
  columns: z.array(z.string()),
  rows_done: z.int(),
  rows_total: z.int().nullable(),
});
export type OpenJob = z.infer<typeof openJobSchema>;

export const schemaPlanSchema = z.strictObject({
  app_file: z.string(),
  target: z.string(),
  /** The catalog's version that the plan was made against; apply refuses (`catalog_moved`) when it is another one by then. */
  catalog_version: z.int(),
  tables: z.array(tablePlanSchema),
  /** Tables of the target that the file does not declare. */
  extras: z.array(z.string()),
  /** What prune does: a drop for each of `extras`. Empty for diff and update, whose operations are their tables'. */
  ops: z.array(opSchema),
  stale: z.array(staleColumnSchema),
  jobs: z.array(openJobSchema),
  /** Services that run and will store no rows any more until they are updated too. Of local plans alone. */
  breaks: z.array(z.string()).optional(),
  /** The other local databases, where the target's is yet to be made. */
  other_databases: z.array(z.string()).optional(),
  status: z.enum(["applied", "skipped", "refused", "failed"]).nullable(),
  /** The tables are what the file declares; of an update that was applied, after it. */
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
