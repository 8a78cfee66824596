import * as z from "zod";
import { exprSchema } from "../expressions.ts";
import { onErrorSchema } from "../jobs.ts";

/** Maximum number of rows or keys in one request; a client sends more in several requests, or as NDJSON. */
export const MAX_WRITTEN = 10_000;

/** The person or key of a write, whose requests take turns with those of others. The server sends it to a pod. */
export const SENDER_HEADER = "x-sender";

/** Content type of an insert's rows in frames of columns (docs/data-api.md). */
export const COLUMNS_TYPE = "application/vnd.appdb.columns";

/**
 * The rows that a request means. A text is a condition as people write it (`score > 0.5 and title like 'x%'`), an
 * object an expression over the table's columns. Null means all rows.
 */
export const conditionSchema = z.union([z.string().min(1).max(10_000), exprSchema]).nullable();

/** A row's values as an insert route takes them: integers beyond 2^53 as numbers of the JSON text. */
const values = z.record(z.string(), z.unknown());

/** Inserts take the body of an insert route over the whole table: a row, an array, NDJSON, or frames of columns. */
export const rowInsertQuerySchema = z.strictObject({
  on_error: onErrorSchema.default("abort"),
  /** Whether the response has the stored rows, rather than their number. */
  return_rows: z.enum(["0", "1"]).default("1"),
});

/**
 * Takes rows like an insert, and returns them with their computed columns. Rows of a view are made of the sent rows of
 * its table. With `ignore`, a row with failed cells has the member `_errors`.
 */
export const rowComputeQuerySchema = z.strictObject({
  on_error: onErrorSchema.default("abort"),
  /** Names of columns, with commas. Omitted: all stored columns of the table. A row then needs only what these read. */
  outputs: z.string().min(1).max(100_000).optional(),
});

/** Rows by their keys, or all rows of a condition. */
export const rowUpdateSchema = z.union([
  z.strictObject({
    /** Each has the key and the new values. */
    rows: z.array(values).min(1).max(MAX_WRITTEN),
    if_not_exists: z.enum(["error", "ignore", "insert"]).default("error"),
    on_error: onErrorSchema.default("abort"),
  }),
  z.strictObject({
    where: conditionSchema,
    /** By column: an expression over the columns of the row. A constant is a literal. */
    set: z.record(z.string(), exprSchema).refine((set) => Object.keys(set).length > 0, "changes no column"),
    on_error: onErrorSchema.default("abort"),
  }),
]);

export const rowDeleteSchema = z.union([
  z.strictObject({ keys: z.array(z.array(z.unknown()).min(1)).min(1).max(MAX_WRITTEN) }),
  z.strictObject({ where: conditionSchema }),
]);

/** What a write did. `errors`: cells that failed, with `on_error: "ignore"`. */
export const writtenSchema = z.object({
  inserted: z.int().default(0),
  updated: z.int().default(0),
  deleted: z.int().default(0),
  errors: z.int().default(0),
});
export type Written = z.output<typeof writtenSchema>;

/** The input and output of the routes that are the same in all APIs. Handlers check the bodies of updates and deletes. */
export const WRITE_SCHEMAS = {
  rowInsert: { query: rowInsertQuerySchema },
  rowCompute: { query: rowComputeQuerySchema },
  rowUpdate: { answer: writtenSchema },
  rowDelete: { answer: writtenSchema },
} as const;
