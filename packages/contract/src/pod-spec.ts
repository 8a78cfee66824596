import * as z from "zod";
import { manifestSchema } from "./manifest.ts";
import { mediaPlaceSchema } from "./media-place.ts";
import { runtimeSchema } from "./runtime.ts";
import { serviceSpecSchema } from "./service-spec.ts";

/** The resources of a database; the fields of its entry with the same names. */
export const resourcesSchema = z.strictObject({
  /** Cores. */
  cpu: z.number().positive(),
  memory_mb: z.int().min(1),
  disk_gb: z.int().min(1),
  /** Python processes of each service, and of the database pod. */
  workers: z.int().min(1),
});
export type Resources = z.infer<typeof resourcesSchema>;

/**
 * The start document of a database pod: `pod.js database` with this document on its standard input. The pod creates its
 * cluster when the folder has none. It listens on `socket` and answers `POD_ROUTES` (routes/pod-paths.ts).
 */
export const databasePodSpecSchema = z.strictObject({
  role: z.literal("database"),
  database_id: z.string(),
  /** For messages: `cloud://acme:main`. */
  uri: z.string(),
  /** Cluster, scratch files and stored runtimes; owned by the pod. */
  data_folder: z.string(),
  /** A prepared cluster, which a new database copies. Created on demand when it is missing. */
  template_folder: z.string(),
  postgres_bin: z.string(),
  /** Short enough for sockets; contains `pod.sock`, `link.sock` and PostgreSQL's. */
  run_folder: z.string(),
  log_folder: z.string(),
  /** Logs and scratch files of its services. They count as the database's disk. */
  services_folder: z.string(),
  /** The bearer token of callers; the application's code never sees it. */
  token: z.string(),
  /** Of the gateway: for its link, and for the addresses of files in the media store. */
  link_token: z.string(),
  resources: resourcesSchema,
  limits: serviceSpecSchema.shape.limits,
  /** The application's Python with the secrets in `env`; the project root is a tree of `files_folder`. */
  runtime: runtimeSchema,
  /** Trees of project files, by digest: `<files_folder>/<digest>`. */
  files_folder: z.string(),
  media: mediaPlaceSchema,
  /** Maximum size of its media store in the operator's bucket. Absent: the store is on its disk. */
  media_gb: z.int().min(1).optional(),
  /** Free bytes of the server's disk below which the pod refuses writes. Absent: no reserve. */
  disk_floor_bytes: z.number().positive().optional(),
  /** Warnings for the pod's log at its start: for example, ignored settings. */
  notices: z.array(z.string()),
});
export type DatabasePodSpec = z.infer<typeof databasePodSpecSchema>;

/** `GET /v1/health` of a pod. Status 200 when PostgreSQL responds, 503 with the same body before. */
export const podHealthSchema = z.object({
  version: z.string(),
  pid: z.int(),
  state: z.enum(["starting", "ready", "stopping"]),
  postgres: z.enum(["up", "starting", "down"]),
  /** Why the database is not idle: `2 connections`, `a fill runs`; null when it is idle. */
  busy: z.string().nullable(),
  /** Time since the last request, except health checks, or since its start. A duration, because the system clock can
   *  change. Pods of older versions lack it. */
  idle_ms: z.int().min(0).default(0),
  disk_bytes: z.int(),
  disk_limit_bytes: z.int(),
  /** Writes are refused with `disk_full` until there is space again. */
  is_disk_full: z.boolean(),
  /** What its own media store holds: a part of `disk_bytes`, unless it is in the operator's bucket. */
  media_bytes: z.int().default(0),
  media_objects: z.int().default(0),
  is_media_in_bucket: z.boolean().default(false),
  /** Null if `disk_limit_bytes` is the limit of its files too. */
  media_limit_bytes: z.int().nullable().default(null),
  /** When the bytes were counted, in ISO 8601. Null before the first time. */
  measured_at: z.string().nullable().default(null),
  /** Resources used since its start; each start has another `run`. CPU time of all its processes, including ended
   *  ones, and elapsed time. Null if the system does not report it, and from pods of older versions. */
  metered: z
    .object({ run: z.string(), cpu_ms: z.int().min(0), awake_ms: z.int().min(0) })
    .nullable()
    .default(null),
});
export type PodHealth = z.infer<typeof podHealthSchema>;

/**
 * The start document of a service pod: `pod.js service-pod` with this document on its standard input. In `run_folder`
 * it listens on `pod.sock` (`SERVICE_POD_ROUTES`, with the token), `link.sock` (the gateway's requests) and `http.sock`
 * (the same routes by plain HTTP; it checks keys itself).
 */
export const servicePodSpecSchema = z.strictObject({
  role: z.literal("service-pod"),
  service_id: z.string(),
  database_id: z.string(),
  /** Increments with each requested start. Two instances of a service may run at the same time. */
  instance: z.int(),
  organization: z.string(),
  database: z.string(),
  /** Within the database: `ingest`, `reports/ingest`. */
  service: z.string(),
  /** For messages: `cloud://acme:main/ingest`. */
  uri: z.string(),
  token: z.string(),
  /** The DSN of its database's PostgreSQL, by socket, with a separate role for the service. */
  dsn: z.string(),
  /** Scratch files: responses that are buffered before they are sent. */
  scratch_folder: z.string(),
  run_folder: z.string(),
  log_folder: z.string(),
  resources: resourcesSchema,
  limits: serviceSpecSchema.shape.limits,
  manifest: manifestSchema,
  /** The application's Python with the secrets in `env`; the project root is the release's tree. */
  runtime: runtimeSchema,
  media: mediaPlaceSchema,
  keys: z.strictObject({
    /** SPKI, DER, base64. */
    public_key: z.string(),
    /** A snapshot from `signSnapshot`; the control plane pushes later ones. */
    snapshot: z.string(),
  }),
  /** Its routes may export rows to this machine and to private networks. */
  may_export_private: z.boolean(),
  notices: z.array(z.string()),
});
export type ServicePodSpec = z.infer<typeof servicePodSpecSchema>;

/** `GET /v1/health` of a service pod: 200 while it serves, 503 with the same body before that and while it drains. */
export const servicePodHealthSchema = z.object({
  version: z.string(),
  pid: z.int(),
  state: z.enum(["starting", "ready", "draining"]),
  in_flight: z.int(),
  /** Time since its last request ended, or since its start. */
  idle_ms: z.int().min(0),
  /** Versions of the link that it supports. Pods of servers that knew only version 1 do not report any. */
  link_versions: z.array(z.int()).readonly().default([]),
});
export type ServicePodHealth = z.infer<typeof servicePodHealthSchema>;
