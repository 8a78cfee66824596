import * as z from "zod";
import { onErrorSchema } from "../jobs.ts";
import { manifestSchema } from "../manifest.ts";
import { recomputeBodySchema } from "./control-work.ts";
import { queryQuestionSchema } from "./local.ts";
import { programCodeSchema } from "./programs.ts";
import { psqlRequestSchema } from "./psql.ts";
import { tableChangeRequestSchema } from "./table-changes.ts";

/** Bodies of a database pod's API (pod-paths.ts). */
const appFile = z.string().max(1_000);
/** Services about which a plan is asked, the first by name. */
export const MAX_SERVICES_TOLD = 100;
const digest = z.string().regex(/^[0-9a-f]{64}$/);

/** A running service of the database, for the services that a plan breaks. */
export const podServiceSchema = z.strictObject({
  /** Its name, and the database or folder of its tables: `cloud://acme:main/reports`. */
  service: z.string(),
  target: z.string(),
  manifest: manifestSchema,
});
export type PodService = z.infer<typeof podServiceSchema>;
const services = z.array(podServiceSchema).max(MAX_SERVICES_TOLD).default([]);

export const podManifestRequestSchema = z.strictObject({
  app_file: appFile,
  /** The tree with the file, in the pod's files folder. */
  files: digest,
});
export type PodManifestRequest = z.infer<typeof podManifestRequestSchema>;

export const podPsqlRequestSchema = z.strictObject({
  ...psqlRequestSchema.shape,
  /** The person or key whose sessions count together. */
  caller: z.string().max(200).default(""),
});

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
  services,
});
export type PodSchemaPlanRequest = z.infer<typeof podSchemaPlanRequestSchema>;

export const podSchemaApplyRequestSchema = z.strictObject({
  ...podSchemaPlanRequestSchema.omit({ manifest: true, services: true }).shape,
  catalog_version: z.int(),
  allow_destructive: z.boolean(),
  on_error: onErrorSchema.default("abort"),
});
export type PodSchemaApplyRequest = z.infer<typeof podSchemaApplyRequestSchema>;

export const podSchemaPruneRequestSchema = z.strictObject({
  ...podManifestRequestSchema.shape,
  folders: z.array(z.string()).max(20),
  /** As for a local prune. */
  catalog_version: z.int().nullable(),
});

export const podQueryExplainRequestSchema = z.strictObject({
  ...podManifestRequestSchema.shape,
  folders: z.array(z.string()).max(20),
  ...queryQuestionSchema.shape,
});

export const podRecomputeRequestSchema = z.strictObject({
  ...recomputeBodySchema.shape,
  /** The current tree of the database, whose functions run if it has them. Null: those of the table's last update. */
  files: digest.nullable(),
});

export const podTableChangeRequestSchema = z.strictObject({
  ...tableChangeRequestSchema.shape,
  /** The current tree of the database, which has the functions that the change calls; null: it has no files. */
  files: digest.nullable(),
  services,
});

export const podProgramCodeSchema = z.strictObject({
  ...programCodeSchema.shape,
  /** The current tree of the database, from which the functions import; null: it has no files. */
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

/** The current tree of the database. */
export const podTreeUseSchema = z.strictObject({ files: digest });

/** A PostgreSQL name for a service: `svc_` and 12 digits of its id. */
export const podServiceRoleRequestSchema = z.strictObject({ role: z.string().regex(/^svc_[0-9a-f]{12}$/) });
export type PodServiceRoleRequest = z.infer<typeof podServiceRoleRequestSchema>;
/** The service's DSN: by the socket in the pod's run folder. */
export const podServiceRoleSchema = z.object({ dsn: z.string() });
export type PodServiceRole = z.infer<typeof podServiceRoleSchema>;
