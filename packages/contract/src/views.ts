import * as z from "zod";
import { exprSchema } from "./expressions.ts";
import { iteratesFiles } from "./file-functions.ts";
import { expressionText, nameText } from "./text-lengths.ts";
import { columnTypeSchema, isMediaKind } from "./types.ts";

/** Maximum columns and parameters of one declaration; PostgreSQL tables cannot have more columns. */
export const MAX_NAMES = 2_000;

/** A call of an iterator, which makes rows of one row. */
const iteratorSchema = z.strictObject({
  /** `document.document_splitter`, or the id of a function of the application. */
  fn: nameText,
  is_udf: z.boolean(),
  args: z.array(exprSchema),
  kwargs: z.record(z.string(), exprSchema),
  text: expressionText,
  /** The columns of its rows. One that is not stored has its expression wherever it is read. */
  outputs: z
    .array(z.strictObject({ name: nameText, type: columnTypeSchema, nullable: z.boolean(), is_stored: z.boolean() }))
    .max(MAX_NAMES)
    .min(1),
});

/** What makes a table a view: rows of another table or view. */
export const viewSchema = z.strictObject({
  /** A table or view of the same file. */
  base: nameText,
  /** The condition of its rows, over columns of the base; null for all. `text` as for a computed column. */
  filter: z.strictObject({ text: expressionText, expr: exprSchema }).nullable(),
  /** The columns of the base that it shows; null for all. */
  columns: z.array(nameText).max(MAX_NAMES).nullable(),
  /** Its own columns that `select(name=...)` of the base declares: all columns that they read are of the base. */
  selected: z.array(nameText).max(MAX_NAMES).optional(),
  /** Makes the view's rows of each row of the base; absent for one row of each. */
  iterator: iteratorSchema
    .refine(
      ({ fn, is_udf: isUdf, outputs }) =>
        isUdf || outputs.every(({ type: { kind } }) => !isMediaKind(kind) || iteratesFiles(fn, kind)),
      "has a file as an output, which the iterator does not make",
    )
    .optional(),
});

/** What the rows of an iterator view are made of, in the catalog. */
export const rowsOfSchema = z.strictObject({
  table: z.string(),
  /** The filtered view of that table whose rows make them; absent for all rows of the table. */
  base: z.string().optional(),
  column: z.string(),
  text: z.string(),
  /** Texts of columns that are made with the rows, because they read columns of the base. */
  values: z.record(z.string(), z.string()).optional(),
  /** The columns of its base that it shows, and how many tables further up each is. */
  columns: z.array(z.strictObject({ name: z.string(), column: z.string(), up: z.int() })).optional(),
});

const madeValue = { name: z.string(), type: columnTypeSchema, nullable: z.boolean() };

/**
 * The rows that a compute route over an iterator view makes of one row (lower-routes.ts). Rows of rows have several
 * levels: 0 is the row of the request, and the last one has the rows of the view.
 */
export const madeRowsSchema = z.strictObject({
  /** The column of the request's row that makes the rows of level 1. */
  column: z.string(),
  /** The table of the last level. */
  table: z.string(),
  /** The columns of levels 1 and deeper that make the rows of the next level. */
  deeper: z.array(z.string()),
  /** The values of the levels that outputs and `computed` read. */
  values: z.array(z.strictObject({ ...madeValue, level: z.int(), column: z.string() })),
  /** Unstored columns, and whether a row is one of the view (MEMBER), over `values`. */
  computed: z.array(z.strictObject({ ...madeValue, expr: exprSchema })),
  /** The outputs, each with the name of its value. */
  outputs: z.array(z.strictObject({ ...madeValue, value: z.string() })),
});

/** The name of the value that says whether a made row is one of the view. No column has this name. */
export const MEMBER = "(member)";

export type MadeRowsAnswer = z.infer<typeof madeRowsSchema>;
export type ManifestIterator = z.infer<typeof iteratorSchema>;
