import * as z from "zod";
import { engineMember } from "./engine-member.ts";
import { exprSchema } from "./expressions.ts";
import { nameText } from "./text-lengths.ts";
import { MAX_NAMES } from "./views.ts";

/** Maximum joins of a query. PostgreSQL plans all of them together, in memory. */
export const MAX_JOINS = 50;
/** Maximum members of `group_by` and of `order_by`. */
export const MAX_SORT_KEYS = 100;

/** A table of a query, with its name in the query's `column` nodes (`of`). */
const tableRefSchema = z.strictObject({
  table: nameText,
  as: nameText,
  /** The rows of the table that the query reads; absent for all (lower-queries.ts). */
  member: engineMember(exprSchema),
});

export const JOIN_KINDS = ["inner", "left", "right", "full", "cross"] as const;

/**
 * A query from the Python library. Clauses have SQL's meaning and order, whatever the order of calls. `order_by` lists
 * the major key first; nulls come last ascending and first descending. Without `order_by`, rows come in insertion
 * order. `tail` takes the last rows of that order and keeps the order. With aggregates and no `group_by`, all rows are
 * one group.
 */
export const querySchema = z.strictObject({
  from: tableRefSchema,
  joins: z
    .array(
      z.strictObject({
        kind: z.enum(JOIN_KINDS),
        ...tableRefSchema.shape,
        on: exprSchema.nullable(),
        /** Joined to the table before it, whose condition may then read it (lower-queries.ts). */
        is_within: engineMember(z.boolean()),
      }),
    )
    .max(MAX_JOINS),
  where: exprSchema.nullable(),
  group_by: z.array(exprSchema).max(MAX_SORT_KEYS),
  select: z
    .array(z.strictObject({ name: nameText, expr: exprSchema }))
    .min(1)
    .max(MAX_NAMES),
  distinct: z.boolean(),
  order_by: z.array(z.strictObject({ expr: exprSchema, asc: z.boolean() })).max(MAX_SORT_KEYS),
  /** Literals or parameters of kind int. */
  limit: exprSchema.nullable(),
  offset: exprSchema.nullable(),
  tail: exprSchema.nullable(),
  /** A sample of the rows that pass `where`: `n` of them, or each with the probability `fraction`. Equal seeds give
   *  equal samples. */
  sample: z
    .strictObject({
      n: z.int().min(0).nullable(),
      fraction: z.number().min(0).max(1).nullable(),
      seed: z.int().nullable(),
    })
    .nullable(),
});
export type Query = z.infer<typeof querySchema>;
