import * as z from "zod";
import { exprSchema } from "./expressions.ts";
import { columnTypeSchema } from "./types.ts";

/**
 * The manifest: all that the engine knows of an application. `python -m appdb.manifest app.py` writes it, a second
 * language could. Paths are relative to the project root; lists whose order means nothing are sorted by name
 * (tables, functions, services, modules); columns and routes keep their declared order.
 */
export const MANIFEST_VERSION = 1;

/** Where something was written: file relative to the project root, 1-based line. */
export const sourceSchema = z.strictObject({ file: z.string(), line: z.int().min(1) });

export const columnSchema = z.strictObject({
  name: z.string(),
  type: columnTypeSchema,
  nullable: z.boolean(),
  primary_key: z.boolean(),
  /** `text` is the canonical printed form (`upper(title)`), for plans; `expr` is what runs. Null for a stored column. */
  computed: z.strictObject({ text: z.string(), expr: exprSchema }).nullable(),
  comment: z.string().nullable(),
  custom_metadata: z.unknown(),
  source: sourceSchema,
});

export const indexSchema = z.strictObject({
  kind: z.literal("btree"),
  name: z.string().nullable(),
  columns: z.array(z.string()).min(1),
  source: sourceSchema,
});

export const tableSchema = z.strictObject({
  name: z.string(),
  /** Python class name, for messages. */
  model: z.string(),
  comment: z.string().nullable(),
  custom_metadata: z.unknown(),
  columns: z.array(columnSchema).min(1),
  /** Column names in declared order; empty when the table has no key. */
  primary_key: z.array(z.string()),
  indexes: z.array(indexSchema),
  has_default_idxs: z.boolean(),
  source: sourceSchema,
});

export const parameterSchema = z.strictObject({
  name: z.string(),
  type: columnTypeSchema,
  nullable: z.boolean(),
  kind: z.enum(["positional", "keyword_only"]),
  /** A literal as in an expression's `literal.value`; absent when the parameter has no default. */
  default: z.union([z.string(), z.number(), z.boolean(), z.null()]).optional(),
});

export const functionSchema = z.strictObject({
  /** `<module>:<name>`, for example `udfs:fare`; the module path is from the project root. */
  id: z.string(),
  module: z.string(),
  name: z.string(),
  parameters: z.array(parameterSchema),
  result: z.strictObject({ type: columnTypeSchema, nullable: z.boolean() }),
  /** sha256 hex of the function's source text. */
  digest: z.string(),
  source: sourceSchema,
});

export const routeSchema = z.strictObject({
  kind: z.enum(["insert", "compute"]),
  method: z.enum(["post"]),
  /** Starts with `/`; the service's prefix is not in it. */
  path: z.string(),
  table: z.string(),
  inputs: z.array(z.string()),
  outputs: z.array(z.string()),
  source: sourceSchema,
});

export const serviceSchema = z.strictObject({
  name: z.string(),
  /** Empty, or starts with `/` and does not end with one. */
  prefix: z.string(),
  routes: z.array(routeSchema),
  source: sourceSchema,
});

export const manifestSchema = z.strictObject({
  manifest_version: z.literal(MANIFEST_VERSION),
  library_version: z.string(),
  python_version: z.string(),
  app_file: z.string(),
  tables: z.array(tableSchema),
  functions: z.array(functionSchema),
  services: z.array(serviceSchema),
  /** Files below the project root that importing the application read, with the sha256 hex of their bytes. */
  modules: z.array(z.strictObject({ path: z.string(), sha256: z.string() })),
});

export type Source = z.infer<typeof sourceSchema>;
export type ManifestColumn = z.infer<typeof columnSchema>;
export type ManifestIndex = z.infer<typeof indexSchema>;
export type ManifestTable = z.infer<typeof tableSchema>;
export type ManifestFunction = z.infer<typeof functionSchema>;
export type ManifestRoute = z.infer<typeof routeSchema>;
export type ManifestService = z.infer<typeof serviceSchema>;
export type Manifest = z.infer<typeof manifestSchema>;
