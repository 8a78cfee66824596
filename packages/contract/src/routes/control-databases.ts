import * as z from "zod";
import { onErrorSchema } from "../jobs.ts";
import { resourcesSchema } from "../pod-spec.ts";
import { databaseEntrySchema } from "../service-toml.ts";
import { queryQuestionSchema } from "./local.ts";

/** Bodies of database routes (control-paths.ts). Times are ISO 8601 in UTC. */
const time = z.iso.datetime();
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

export const DATABASE_STATES = [
  "PROVISIONING",
  "UPDATING",
  "AVAILABLE",
  "STOPPING",
  "STOPPED",
  "STARTING",
  "FAILED",
  "DELETING",
] as const;
export type DatabaseState = (typeof DATABASE_STATES)[number];

export const POD_STATES = ["STARTING", "READY", "NOT_READY", "STOPPED", "FAILED"] as const;
export const podSchema = z.object({
  id: z.string(),
  kind: z.enum(["database", "service"]),
  state: z.enum(POD_STATES),
  restarts: z.int(),
  started_at: time.nullable(),
  /** Why it is not READY, for people. */
  reason: z.string().nullable(),
  memory_bytes: z.int().nullable(),
  /** When it last ended because it needed too much memory, and the memory_mb of its database then. */
  ended_by_memory: z.object({ at: time, memory_mb: z.int() }).nullable().optional(),
});
export type Pod = z.infer<typeof podSchema>;

export const imageSchema = z.object({
  /** Hash of the environment; null for the base library alone. */
  hash: z.string().nullable(),
  source: z.enum(["uv.lock", "requirements.txt"]).nullable(),
  /** `3.12.8` */
  python: z.string().nullable(),
  packages: z.int(),
  bytes: z.int(),
  built_at: time.nullable(),
});
export const projectSchema = z.object({ digest: sha256, files: z.int(), bytes: z.int(), uploaded_at: time });
export const failureSchema = z.object({ code: z.string(), detail: z.string(), hint: z.string().nullable() });

export const databaseSchema = z.object({
  id: z.string(),
  name: z.string(),
  uri: z.string(),
  organization: z.string(),
  state: z.enum(DATABASE_STATES),
  created_at: time,
  /** Increments with each requested change. */
  generation: z.int(),
  /** Current resources. */
  resources: resourcesSchema,
  /** Desired resources; different only during an update. */
  desired_resources: resourcesSchema,
  image: imageSchema,
  project: projectSchema.nullable(),
  /** Null before the first build. */
  last_build: z
    .object({
      state: z.enum(["running", "succeeded", "failed"]),
      error: failureSchema.nullable(),
      operation_id: z.string().nullable(),
      at: time,
    })
    .nullable(),
  /** Why it is FAILED; null otherwise. */
  failure: failureSchema.nullable(),
  /** `15m`, `never`. */
  sleep_after: z.string(),
  wake_on_request: z.boolean(),
  /** Why it is awake, or when it will sleep: `2 connections`, `idle 3m; sleeps in 12m`; null while it is stopped. */
  awake_because: z.string().nullable(),
  usage: z
    .object({
      disk_bytes: z.int(),
      disk_limit_bytes: z.int(),
      memory_bytes: z.int().nullable(),
      is_disk_full: z.boolean(),
      /** What its own media store holds. Absent before it was measured. */
      media_bytes: z.int().optional(),
      media_objects: z.int().optional(),
      /** Whether `media_bytes` are in the bucket of the server's operator. Otherwise they are a part of `disk_bytes`. */
      is_media_in_bucket: z.boolean().optional(),
      /** The limit of these in the bucket; null if `disk_limit_bytes` is. */
      media_limit_bytes: z.int().nullable().optional(),
      /** When the bytes on disk and of media were counted. */
      measured_at: z.string().nullable().optional(),
    })
    .nullable(),
  /** Sums over all of its pods since its creation, at most half a minute old: CPU time, and time awake. */
  used: z.object({ cpu_seconds: z.number(), awake_seconds: z.number() }),
  pods: z.array(podSchema),
  /** The operation in progress. */
  operation: z.object({ id: z.string(), kind: z.string() }).nullable(),
  /** When its storage is deleted permanently; set while it is DELETING. */
  purged_at: time.nullable(),
  /** Whether writes are refused because the disk of the server is nearly full. Only `databaseShow` has it. */
  is_server_disk_full: z.boolean().optional(),
  /** Free bytes of that disk while it is nearly full. */
  server_disk_free_bytes: z.number().optional(),
});
export type Database = z.infer<typeof databaseSchema>;

export const treeEntrySchema = z.strictObject({
  path: z.string().max(1_024),
  size: z.int().min(0),
  is_executable: z.boolean(),
  chunks: z.array(sha256).max(1_000),
  link: z.string().max(1_024).nullable(),
});

/** Maximum files of an environment. */
export const MAX_ENVIRONMENT_FILES = 64;
/** Maximum characters of all files of an environment together. */
export const MAX_ENVIRONMENT_LENGTH = 8_000_000;

export const environmentSchema = z.strictObject({
  source: z.enum(["uv.lock", "requirements.txt"]).nullable(),
  /**
   * Texts as they are hashed; pyproject.toml without [tool.service]. A path that ends in `/` is a folder of the project
   * that is built into the image: its text lists the files with their digests.
   */
  files: z
    .array(z.strictObject({ path: z.string().max(1_024), text: z.string().max(MAX_ENVIRONMENT_LENGTH) }))
    .max(MAX_ENVIRONMENT_FILES)
    .refine((files) => files.reduce((sum, { text }) => sum + text.length, 0) <= MAX_ENVIRONMENT_LENGTH, {
      error: `Expected files of at most ${MAX_ENVIRONMENT_LENGTH} characters together.`,
    }),
  python_version: z.string().max(20).nullable(),
  system_packages: z.array(z.string().max(200)).max(200),
  uv_options: z.string().max(2_000).nullable(),
});

export type EnvironmentDocument = z.infer<typeof environmentSchema>;

/** The entry of service.toml without its name. Omitted fields keep their values. */
export const databaseSettingsSchema = databaseEntrySchema.omit({ name: true });

export const databasePlanRequestSchema = z.strictObject({
  settings: databaseSettingsSchema,
  /** The files on the command's machine. */
  files: z.array(treeEntrySchema).max(50_000),
  environment: environmentSchema,
});
export type DatabasePlanRequest = z.input<typeof databasePlanRequestSchema>;

export const databaseOpSchema = z.object({
  target: z.enum(["database", "image", "files", "resources", "settings"]),
  op: z.enum(["create", "build", "upload", "change"]),
  severity: z.enum(["additive", "destructive"]),
  /** The end of a sentence: `the image will be built: uv.lock changed`. */
  description: z.string(),
  /** Details for people, one per line: changed lines of the lock, or files. */
  lines: z.array(z.string()),
  requires_restart: z.boolean(),
  details: z.record(z.string(), z.unknown()),
});
export type DatabaseOp = z.infer<typeof databaseOpSchema>;

export const databasePlanSchema = z.object({
  uri: z.string(),
  exists: z.boolean(),
  /** `absent` for one that does not exist. */
  state: z.enum([...DATABASE_STATES, "absent"]),
  /** 0 for one that does not exist. */
  generation: z.int(),
  resolution: z.enum(["up_to_date", "create", "update"]),
  ops: z.array(databaseOpSchema),
  /** Files with bytes that the service lacks, and the number of these bytes. */
  missing_files: z.int(),
  missing_bytes: z.int(),
  warnings: z.array(z.string()),
  in_agreement: z.boolean(),
  summary: z.object({ ops: z.int(), destructive: z.int(), rebuild: z.boolean(), restarts: z.boolean() }),
});
export type DatabasePlan = z.infer<typeof databasePlanSchema>;

export const databaseUpdateRequestSchema = z.strictObject({
  ...databasePlanRequestSchema.shape,
  /** From the shown plan; another value is refused: `generation_moved`. */
  expected_generation: z.int(),
  allow_destructive: z.boolean().default(false),
});
export type DatabaseUpdateRequest = z.input<typeof databaseUpdateRequestSchema>;

/**
 * Without a body, the image is built from the current files and environment of the database. Settings count for a
 * FAILED database, which no update can change: it can get more of a resource, and the other settings of its entry.
 */
export const databaseBuildImageRequestSchema = databasePlanRequestSchema.nullish();
export type DatabaseBuildImageRequest = z.input<typeof databaseBuildImageRequestSchema>;

/** The accepted change; `operation` is null when there was nothing to do. */
export const databaseChangeSchema = z.object({
  database: databaseSchema,
  operation: z.object({ id: z.string(), kind: z.string() }).nullable(),
});
export type DatabaseChange = z.infer<typeof databaseChangeSchema>;

export const databaseDeleteQuerySchema = z.strictObject({
  /** `1` deletes the storage at once, without the days in which it can be undeleted. */
  now: z.enum(["0", "1"]).default("0"),
});

export const blobMissingSchema = z.strictObject({ digests: z.array(sha256).max(50_000) });
export const blobMissingAnswerSchema = z.object({ missing: z.array(z.string()) });
/** `PUT blobs`: `application/x-tar`, one entry per blob, named by its digest, at most CHUNK_BYTES each. Blobs stored
 *  before an interruption stay. */
export const blobUploadAnswerSchema = z.object({ stored: z.int(), bytes: z.int() });

const count = (fallback: number, max: number) => z.coerce.number().int().min(1).max(max).default(fallback);
/** The response is NDJSON of `LogLine`s, oldest first; it follows with `follow=1`. */
export const databaseLogsQuerySchema = z.strictObject({
  /** `pod`, or the output of builds. */
  source: z.enum(["pod", "build"]).default("pod"),
  tail: count(200, 10_000),
  /** Maximum age of the lines. */
  since_s: z.coerce.number().int().min(1).max(31_536_000).optional(),
  follow: z.enum(["0", "1"]).default("0"),
});
export const operationLogQuerySchema = z.strictObject({
  /** The number of the last line that the client has. */
  after: z.coerce.number().int().min(0).default(0),
  follow: z.enum(["0", "1"]).default("0"),
});
export const logLineSchema = z.object({
  /** Increments by one per line within an operation; 0 in a pod's log. */
  number: z.int(),
  at: time,
  level: z.enum(["debug", "info", "warn", "error"]),
  line: z.string(),
});
export type LogLine = z.infer<typeof logLineSchema>;

const fileDigests = z.record(z.string().max(1_024), sha256);
export const hostedSchemaPlanRequestSchema = z.strictObject({
  app_file: z.string().max(1_000),
  folders: z.array(z.string().max(63)).max(20),
  /** Diff: the tree on the command's machine, with uploaded chunks. Null: the database's own files. */
  files: z.array(treeEntrySchema).max(50_000).nullable(),
  /** Update: SHA-256 of whole files on the command's machine, by path. Those that the application imports must match
   *  the database's. */
  file_digests: fileDigests.nullable(),
  recompute: z.boolean().default(false),
  /** A succeeded preparation, whose files and image the plan uses; `files` is then null. */
  preparation: z.uuid().optional(),
});
export type HostedSchemaPlanRequest = z.input<typeof hostedSchemaPlanRequestSchema>;
/** The database's own files, which must match those of the caller where the application imports them. */
const deployedFile = {
  app_file: z.string().max(1_000),
  folders: z.array(z.string().max(63)).max(20),
  file_digests: fileDigests.nullable(),
};
export const hostedSchemaPruneRequestSchema = z.strictObject({
  ...deployedFile,
  /** The version of the shown plan; null only shows the drops. */
  catalog_version: z.int().nullable(),
});
export const hostedQueryExplainRequestSchema = z.strictObject({
  ...deployedFile,
  ...queryQuestionSchema.shape,
});
export const hostedSchemaApplyRequestSchema = z.strictObject({
  app_file: z.string().max(1_000),
  folders: z.array(z.string().max(63)).max(20),
  file_digests: fileDigests.nullable(),
  recompute: z.boolean().default(false),
  catalog_version: z.int(),
  allow_destructive: z.boolean(),
  on_error: onErrorSchema.default("abort"),
});
export type HostedSchemaApplyRequest = z.input<typeof hostedSchemaApplyRequestSchema>;
