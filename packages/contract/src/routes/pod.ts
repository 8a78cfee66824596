import * as z from "zod";
import { onErrorSchema } from "../jobs.ts";
import { manifestSchema } from "../manifest.ts";
import { recomputeBodySchema } from "./control-work.ts";

/** Bodies of a database pod's API (pod-paths.ts). */
const appFile = z.string().max(1_000);
const digest = z.string().regex(/^[0-9a-f]{64}$/);

export const podManifestRequestSchema = z.strictObject({
  app_file: appFile,
  /** The tree with the file, in the pod's files folder. */
  files: digest,
});
export type PodManifestRequest = z.infer<typeof podManifestRequestSchema>;

/** A project file that the application imported, including app.py, by its path from the root. */
export const importedFileSchema = z.object({ path: z.string(), digest });
export type ImportedFile = z.infer<typeof importedFileSchema>;

export const podSchemaPlanRequestSchema = z.strictObject({
  ...podManifestRequestSchema.shape,
  /** Folders within the database: `[]`, `["reports"]`. */
  folders: z.array(z.string()).max(20),
  recompute: z.boolean().default(false),
  /** The manifest, if an image that the pod does not run has read it: this plan computes no values. */
  manifest: manifestSchema.optional(),
});
export type PodSchemaPlanRequest = z.infer<typeof podSchemaPlanRequestSchema>;

export const podSchemaApplyRequestSchema = z.strictObject({
  ...podSchemaPlanRequestSchema.omit({ manifest: true }).shape,
  catalog_version: z.int(),
  allow_destructive: z.boolean(),
  on_error: onErrorSchema.default("abort"),
});
export type PodSchemaApplyRequest = z.infer<typeof podSchemaApplyRequestSchema>;

export const podRecomputeRequestSchema = z.strictObject({
  ...recomputeBodySchema.shape,
  /** The current tree of the database, whose functions run if it has them. Null: those of the table's last update. */
  files: digest.nullable(),
});

export const podTablesCheckRequestSchema = z.strictObject({
  /** For a release: its files are not read again. */
  manifest: manifestSchema,
  folders: z.array(z.string()).max(20),
});
export type PodTablesCheckRequest = z.input<typeof podTablesCheckRequestSchema>;

/** A table difference that prevents an application's services from starting or storing rows: `docs.body is missing`. */
export const tableHindranceSchema = z.object({ table: z.string(), reason: z.string() });
export type TableIncompatibility = z.infer<typeof tableHindranceSchema>;
export const podTablesCheckSchema = z.object({ hindrances: z.array(tableHindranceSchema) });

/** Digests of the trees that compute columns: those of each table's last update, and of unfinished jobs. */
export const podTreesSchema = z.object({ trees: z.array(digest) });
export type PodTrees = z.infer<typeof podTreesSchema>;

/** A PostgreSQL name for a service: `svc_` and 12 digits of its id. */
export const podServiceRoleRequestSchema = z.strictObject({ role: z.string().regex(/^svc_[0-9a-f]{12}$/) });
export type PodServiceRoleRequest = z.infer<typeof podServiceRoleRequestSchema>;
/** The service's DSN: by the socket in the pod's run folder. */
export const podServiceRoleSchema = z.object({ dsn: z.string() });
export type PodServiceRole = z.infer<typeof podServiceRoleSchema>;

export const dataColumnSchema = z.object({
  name: z.string(),
  /** As a person writes it: `String | None`. */
  type: z.string(),
  is_key: z.boolean(),
  is_computed: z.boolean(),
  /** The expression of a computed column, in Python form. */
  value: z.string().nullable(),
});
export const dataTableSchema = z.object({
  /** Within the database: `docs`, `reports/docs`. */
  path: z.string(),
  /** Of a view: the path of the table or view that it is over; null for a table. */
  view_of: z.string().nullable(),
  columns: z.array(dataColumnSchema),
  /** PostgreSQL's estimate, exact below 10,000. */
  rows: z.int(),
  /** Number of failed cells. */
  errors: z.int(),
  bytes: z.int(),
});
export type DataTable = z.infer<typeof dataTableSchema>;

/** A row with a failed or pending cell has `_errors`: by column, `{type, message, function}` or `pending`. */
export const rowPageSchema = z.object({
  rows: z.array(z.record(z.string(), z.unknown())),
  next: z.string().nullable(),
});
export type RowPage = z.infer<typeof rowPageSchema>;

/** The token names the file and expires. */
export const fileQuerySchema = z.strictObject({ token: z.string().max(8_000) });

/** A cell of a media column in a page of rows: its file, as far as it has been read. */
export const fileCellSchema = z.object({
  /** A path of the control plane, which needs the caller's credential, for an hour at least. */
  address: z.string(),
  /** Where the content is, if a request gave its address. */
  url: z.string().optional(),
  type: z.string().optional(),
  bytes: z.int().optional(),
  width: z.int().optional(),
  height: z.int().optional(),
  mode: z.string().optional(),
  name: z.string().optional(),
});
export type FileCell = z.infer<typeof fileCellSchema>;
