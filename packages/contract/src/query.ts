import * as z from "zod";
import { exprSchema } from "./expressions.ts";

/** A table of a query, under the name by which the query's `column` nodes know it (`of`). */
const tableRefSchema = z.strictObject({ table: z.string(), as: z.string() });

export const JOIN_KINDS = ["inner", "left", "right", "full", "cross"] as const;

/**
 * A query as the Python library writes it. The clauses mean what SQL means by them, in SQL's order, whatever the order
 * of the calls was; `order_by` lists the major key first, nulls come last ascending and first descending. Without
 * `order_by`, rows come as they were inserted. `tail` takes the last rows of that order and keeps the order.
 * With aggregates and no `group_by` all rows are one group.
 */
export const querySchema = z.strictObject({
  from: tableRefSchema,
  joins: z.array(z.strictObject({ kind: z.enum(JOIN_KINDS), ...tableRefSchema.shape, on: exprSchema.nullable() })),
  where: exprSchema.nullable(),
  group_by: z.array(exprSchema),
  select: z.array(z.strictObject({ name: z.string(), expr: exprSchema })).min(1),
  distinct: z.boolean(),
  order_by: z.array(z.strictObject({ expr: exprSchema, asc: z.boolean() })),
  /** Literals or parameters of kind int. */
  limit: exprSchema.nullable(),
  offset: exprSchema.nullable(),
  tail: exprSchema.nullable(),
  /** Rows drawn from those that `where` lets through: `n` of them, or each with the chance `fraction`; the same seed draws the same. */
  sample: z
    .strictObject({
      n: z.int().min(0).nullable(),
      fraction: z.number().min(0).max(1).nullable(),
      seed: z.int().nullable(),
    })
    .nullable(),
});
export type Query = z.infer<typeof querySchema>;
