import * as z from "zod";
import { recomputePlanRequestSchema } from "./local.ts";

/** Bodies about the work on a hosted database's tables. Paths are within the database: `docs`, `reports/docs`. */

/** Maximum number of failed cells in a response. */
export const MAX_ERRORS = 10_000;
const path = z.string().max(1_500);

export const errorListQuerySchema = z.strictObject({
  /** A table or a folder; default: the whole database. */
  path: path.optional(),
  column: z.string().max(200).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_ERRORS).default(100),
});

export const recomputeBodySchema = z.strictObject({
  ...recomputePlanRequestSchema.shape,
  table: path,
  columns: z.array(z.string().max(200)).max(1_000),
});

export const jobListQuerySchema = z.strictObject({
  folder: path.optional(),
  /** Includes ended jobs. */
  all: z.enum(["0", "1"]).default("0"),
});

/** An id, or a prefix that no other open job has; the response has the whole id. */
export const jobCancelSchema = z.strictObject({ id: z.string().min(1).max(100) });
