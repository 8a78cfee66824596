import * as z from "zod";
import { onErrorSchema } from "../jobs.ts";
import { columnSchema, indexSchema, tableSchema } from "../manifest.ts";
import { schemaPlanSchema } from "../plan.ts";
import { nameText } from "../text-lengths.ts";
import { MAX_NAMES } from "../views.ts";
import { requestCodeSchema } from "./data-queries.ts";

/** A path within the database: `docs`, `reports/docs`; of a folder: `reports`. */
const path = nameText.min(1);
const ifExists = z.enum(["error", "ignore", "replace"]).default("error");
const ifNotExists = z.enum(["error", "ignore"]).default("error");

/** A change of one table or folder, or of the tables of some models. `force` drops what depends on it, too. */
export const tableChangeSchema = z.discriminatedUnion("change", [
  /** A table, or a view whose base exists. `definition.name` is the last part of the path. */
  z.strictObject({ change: z.literal("create_table"), table: path, definition: tableSchema, if_exists: ifExists }),
  /** Stored columns, which old rows have no value or the default of, and computed ones, which are filled. */
  z.strictObject({
    change: z.literal("add_columns"),
    table: path,
    columns: z.array(columnSchema).min(1).max(MAX_NAMES),
    if_exists: ifExists,
  }),
  z.strictObject({
    change: z.literal("drop_columns"),
    table: path,
    columns: z.array(nameText).min(1).max(MAX_NAMES),
    if_not_exists: ifNotExists,
  }),
  z.strictObject({ change: z.literal("rename_column"), table: path, column: nameText, to: nameText }),
  /** `columns`: those with the vectors of an embedding index. */
  z.strictObject({
    change: z.literal("add_index"),
    table: path,
    index: indexSchema,
    columns: z.array(columnSchema).max(MAX_NAMES).default([]),
    if_exists: ifExists,
  }),
  /** By its name, or the only one over a column. */
  z.strictObject({
    change: z.literal("drop_index"),
    table: path,
    index: nameText.nullable(),
    column: nameText.nullable(),
    if_not_exists: ifNotExists,
  }),
  /** To another name, another folder, or both. "replace" drops the table that has the place, in the same transaction.
   *  A folder, if no table has the path, moves with its tables and folders. */
  z.strictObject({
    change: z.literal("move_table"),
    table: path,
    to: path,
    if_exists: z.enum(["error", "replace"]).optional(),
  }),
  z.strictObject({
    change: z.literal("drop_table"),
    table: path,
    force: z.boolean().default(false),
    if_not_exists: ifNotExists,
  }),
  /** Tables and views of a folder as models declare them; others stay. The empty folder is the database. */
  z.strictObject({
    change: z.literal("update_tables"),
    folder: nameText,
    definitions: z.array(tableSchema).min(1).max(MAX_NAMES),
    allow_destructive: z.boolean().default(false),
  }),
  z.strictObject({ change: z.literal("create_folder"), folder: path, if_exists: ifExists }),
  z.strictObject({
    change: z.literal("drop_folder"),
    folder: path,
    force: z.boolean().default(false),
    if_not_exists: ifNotExists,
  }),
]);
export type TableChange = z.output<typeof tableChangeSchema>;

/** Whether a change makes the database that it names. */
export function makesDatabase({ change }: TableChange): boolean {
  return change === "create_table" || change === "create_folder" || change === "update_tables";
}

/** The paths of the tables that a change of tables names, within the database. */
export function changedTables(change: TableChange): readonly string[] {
  if ("table" in change) return [change.table];
  if (change.change !== "update_tables") return [];
  const prefix = change.folder === "" ? "" : `${change.folder}/`;
  return change.definitions.map(({ name }) => prefix + name);
}

/** The path of what is changed, within the database; empty for the database. */
export function changedPath(change: TableChange): string {
  return "table" in change ? change.table : change.folder;
}

export const tableChangeRequestSchema = z.strictObject({
  change: tableChangeSchema,
  ...requestCodeSchema.shape,
  /** Folder of the caller's project, of a local request without a runtime. */
  project_root: z.string().nullable().default(null),
  on_error: onErrorSchema.default("abort"),
  /** Only plans. */
  dry_run: z.boolean().default(false),
});

/** `plan.tables` names the changed tables with what was done; none if the change had nothing to do. */
export const tableChangedSchema = z.object({ plan: schemaPlanSchema });

/** A change of the past, the newest first. */
export const historyEntrySchema = z.object({
  /** The catalog's version after it. */
  version: z.int(),
  changed_at: z.string(),
  /** Within the database. */
  table: z.string(),
  /** `add column summary`, `drop table` and so on, as a plan describes them. */
  changes: z.array(z.string()),
  /** The application file or the program; null if it is unknown. */
  made_by: z.string().nullable(),
});
export type HistoryEntry = z.infer<typeof historyEntrySchema>;

/** `table`: a path within the database; default: all tables. */
export const historyQuerySchema = z.strictObject({
  table: nameText.optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(50),
});

/** A definition as `create_table` takes it, and the functions that it calls. */
export const tableDefinitionSchema = z.object({ definition: tableSchema, ...requestCodeSchema.shape });

/** The input and output of the routes, which are the same in all APIs. */
export const TABLE_CHANGE_SCHEMAS = {
  tableDefinition: { answer: tableDefinitionSchema },
  historyList: { query: historyQuerySchema, answer: z.object({ entries: z.array(historyEntrySchema) }) },
  tableChange: { body: tableChangeRequestSchema, answer: tableChangedSchema },
} as const;
