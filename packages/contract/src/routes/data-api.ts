import * as z from "zod";
import { MAX_ROWS } from "./api.ts";
import { queryRequestSchema, rowsQuerySchema, sqlRequestSchema } from "./data-queries.ts";

/** The data API of a database: its tables and their rows, the same from the daemon, a database's pod and the control
 *  plane. `:table` is a path within the database: `docs`, `reports/docs`. */

export const dataColumnSchema = z.object({
  name: z.string(),
  /** As a person writes it: `String | None`. */
  type: z.string(),
  is_key: z.boolean(),
  is_computed: z.boolean(),
  /** The expression of a computed column, in Python form. */
  value: z.string().nullable(),
  comment: z.string().nullable().default(null),
});
export type DataColumn = z.infer<typeof dataColumnSchema>;

export const dataIndexSchema = z.object({
  name: z.string().nullable(),
  kind: z.enum(["btree", "embedding"]),
  columns: z.array(z.string()),
  /** Of an embedding index: `cosine`, `ip`, `l2`. */
  metric: z.string().nullable(),
});
export type DataIndex = z.infer<typeof dataIndexSchema>;

export const dataTableSchema = z.object({
  /** Within the database: `docs`, `reports/docs`. */
  path: z.string(),
  /** Of a view: the path of the table or view that it is over; null for a table. */
  view_of: z.string().nullable(),
  /** What makes the rows of a view, in Python form: its condition, or its iterator. */
  rows_by: z.string().nullable().default(null),
  comment: z.string().nullable().default(null),
  columns: z.array(dataColumnSchema),
  indexes: z.array(dataIndexSchema).default([]),
  /** PostgreSQL's estimate, exact below 10,000 and for filtered views. */
  rows: z.int(),
  /** Whether `rows` is an estimate. */
  is_rows_estimated: z.boolean().default(false),
  /** Number of failed cells. */
  errors: z.int(),
  bytes: z.int(),
  /** Whether a view has no rows, because a column that its condition reads, or that makes them, is gone. */
  is_broken: z.boolean().default(false),
});
export type DataTable = z.output<typeof dataTableSchema>;

/** A row with a failed or pending cell has `_errors`: by column, `{type, message, function}` or `pending`. */
const row = z.record(z.string(), z.unknown());
export type DataRow = z.infer<typeof row>;

/** A condition of people in an address, which is shorter than a body. */
const where = z.string().min(1).max(4_000).optional();

export const rowListQuerySchema = z.strictObject({
  limit: z.coerce.number().int().min(1).max(MAX_ROWS).default(50),
  cursor: z.string().max(2_000).optional(),
  where,
  /** `column`, `column:asc` or `column:desc`; rows without a value come last. Default: the newest first. */
  order_by: z.string().min(1).max(200).optional(),
});
export const rowCountQuerySchema = z.strictObject({ where });
export const rowPageSchema = z.object({ rows: z.array(row), next: z.string().nullable() });
export type RowPage = z.infer<typeof rowPageSchema>;

export const rowShowQuerySchema = z.strictObject({
  /** The values of the key in its order, a JSON array of texts: `["42"]`. */
  key: z.string().max(100_000),
});

/** The token names the file and expires. */
export const fileQuerySchema = z.strictObject({ token: z.string().max(8_000) });

/** A cell of a media column in a row: its file, as far as it has been read. */
export const fileCellSchema = z.object({
  /** For an hour at least: a path of the control plane, which needs the caller's credential, or of the daemon. */
  address: z.string(),
  /** Where the content is, if a request gave its address. */
  url: z.string().optional(),
  /** A stored file's address in the media store, which does not expire: rows of the same database can name it. */
  uri: z.string().optional(),
  type: z.string().optional(),
  bytes: z.int().optional(),
  width: z.int().optional(),
  height: z.int().optional(),
  mode: z.string().optional(),
  name: z.string().optional(),
});
export type FileCell = z.infer<typeof fileCellSchema>;

/** The input and output of the routes, which are the same in all APIs. */
export const DATA_SCHEMAS = {
  tableList: {
    answer: z.object({
      tables: z.array(dataTableSchema),
      /** Also those without tables: `reports`, `reports/2024`. */
      folders: z.array(z.string()).default([]),
    }),
  },
  tableShow: { answer: dataTableSchema },
  rowList: { query: rowListQuerySchema, answer: rowPageSchema },
  rowShow: { query: rowShowQuerySchema, answer: row },
  rowCount: { query: rowCountQuerySchema, answer: z.object({ count: z.int() }) },
  fileShow: { query: fileQuerySchema },
  queryRun: { body: queryRequestSchema, query: rowsQuerySchema },
  sqlRun: { body: sqlRequestSchema, query: rowsQuerySchema },
} as const;
