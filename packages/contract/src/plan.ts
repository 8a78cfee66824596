import * as z from "zod";

/** Plans as `schema diff` and `service diff` print them; `--json` is this very document. Shapes follow the field (reference 3.4, 4.3). */
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
});
export type TablePlan = z.infer<typeof tablePlanSchema>;

export const schemaPlanSchema = z.strictObject({
  app_file: z.string(),
  target: z.string(),
  /** The catalog's version that the plan was made against; apply refuses (`catalog_moved`) when it is another one by then. */
  catalog_version: z.int(),
  tables: z.array(tablePlanSchema),
  /** Tables of the target that the file does not declare. */
  extras: z.array(z.string()),
  status: z.enum(["applied", "skipped", "refused", "failed"]).nullable(),
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
