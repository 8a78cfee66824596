import * as z from "zod";

/** The handling of a failed cell. `abort` ends the whole insert or job; `ignore` leaves the cell null with its
 *  error. */
export const onErrorSchema = z.enum(["abort", "ignore"]);
export type OnError = z.infer<typeof onErrorSchema>;

export const JOB_KINDS = ["fill", "recompute", "close_pending", "build_index", "background"] as const;
export const JOB_STATES = ["queued", "running", "done", "failed", "cancelled"] as const;

/** A job in `cli jobs list`: long work on one table, or a background request. */
export const jobRecordSchema = z.strictObject({
  id: z.string(),
  kind: z.enum(JOB_KINDS),
  state: z.enum(JOB_STATES),
  /** `main/docs`; `main/api POST /docs` for a request. */
  table: z.string(),
  columns: z.array(z.string()),
  on_error: onErrorSchema,
  rows_done: z.int(),
  /** Null until it starts, and for an index. */
  rows_total: z.int().nullable(),
  /** Cells that got an error; for a request's job, failed attempts. */
  errors: z.int(),
  /** It was cancelled and has not ended yet. */
  is_cancelled: z.boolean(),
  /** Why it failed. */
  error: z.string().nullable(),
  created_at: z.string(),
  ended_at: z.string().nullable(),
});
export type JobRecord = z.infer<typeof jobRecordSchema>;

/** A computed column's cell without a value, in `cli errors`. */
export const cellErrorRecordSchema = z.strictObject({
  /** The row's key; its identity if the table has none. */
  key: z.record(z.string(), z.unknown()),
  column: z.string(),
  /** Class name of the exception; `CellError` if a column that it reads failed. */
  errortype: z.string(),
  errormsg: z.string(),
  function: z.string().nullable(),
  /** The column whose failure is the cause, if it is another one. */
  cause: z.string().nullable(),
});
export type CellErrorRecord = z.infer<typeof cellErrorRecordSchema>;

/** Failed cells of one table: counts of every column, and the first rows. */
export const tableErrorsSchema = z.strictObject({
  table: z.string(),
  rows: z.int(),
  counts: z.record(z.string(), z.int()),
  errors: z.array(cellErrorRecordSchema),
});
export type TableErrors = z.infer<typeof tableErrorsSchema>;

/** The effect of `cli recompute`: the named columns, those that read them, and the number of rows. */
export const recomputePlanSchema = z.strictObject({
  table: z.string(),
  columns: z.array(z.string()),
  /** Recomputed because they read those. */
  cascade: z.array(z.string()),
  on_error: onErrorSchema,
  errors_only: z.boolean(),
  rows: z.int(),
  /** Views with computed columns over the rows of the table, which are recomputed by their own names. */
  views: z.array(z.string()),
});
export type RecomputePlan = z.infer<typeof recomputePlanSchema>;

/** A running local service that computes new rows of a table by previous code, until it is updated. */
export const outdatedServiceSchema = z.strictObject({
  service: z.string(),
  table: z.string(),
  columns: z.array(z.string()),
  /** Ids of the functions with other code. */
  functions: z.array(z.string()),
  /** The file of its last `service update`. */
  app_file: z.string(),
  /** Folder of its project; null for the caller's project, where the request names one. */
  project_root: z.string().nullable(),
});
export type OutdatedService = z.infer<typeof outdatedServiceSchema>;

/** The result of a recompute. */
export const recomputeResultSchema = z.strictObject({
  ...recomputePlanSchema.shape,
  job: z.string(),
  rows_done: z.int(),
  /** Cells that got an error. */
  errors: z.int(),
  /** Only for a local database. */
  outdated: z.array(outdatedServiceSchema).optional(),
});
export type RecomputeResult = z.infer<typeof recomputeResultSchema>;
