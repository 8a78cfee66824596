import * as z from "zod";
import { manifestSchema } from "./manifest.ts";
import { runtimeSchema } from "./runtime.ts";
import { serviceSpecSchema } from "./service-spec.ts";

/** What a database may use; the entry's fields of the same names. */
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
 * What a database pod is told: `pod.js database`, this document on its standard input. The pod makes its cluster when the folder has
 * none, listens on `socket` and answers `POD_ROUTES` (routes/pod-paths.ts).
 */
export const databasePodSpecSchema = z.strictObject({
  role: z.literal("database"),
  database_id: z.string(),
  /** For messages: `cloud://acme:main`. */
  uri: z.string(),
  /** Cluster, scratch files and stored runtimes; the pod's own. */
  data_folder: z.string(),
  /** A cluster made ahead, which a new database copies; made on demand by whoever finds none. */
  template_folder: z.string(),
  postgres_bin: z.string(),
  /** Short enough for sockets; `pod.sock` and PostgreSQL's lie in it. */
  run_folder: z.string(),
  log_folder: z.string(),
  /** Logs and scratch files of its services, to be measured: they count as the database's disk. */
  services_folder: z.string(),
  /** Whoever calls shows it as a bearer; the application's code never sees it. */
  token: z.string(),
  resources: resourcesSchema,
  limits: serviceSpecSchema.shape.limits,
  /** The application's Python with the secrets in `env`; the project root is a tree of `files_folder`. */
  runtime: runtimeSchema,
  /** Where the trees of project files lie, each under its digest: `<files_folder>/<digest>`. */
  files_folder: z.string(),
  /** Sentences for the pod's log at its start, as warnings: settings that were left out, for example. */
  notices: z.array(z.string()),
});
export type DatabasePodSpec = z.infer<typeof databasePodSpecSchema>;

/** `GET /v1/health` of a pod. It answers 200 once PostgreSQL answers, 503 with the same body before. */
export const podHealthSchema = z.object({
  version: z.string(),
  pid: z.int(),
  state: z.enum(["starting", "ready", "stopping"]),
  postgres: z.enum(["up", "starting", "down"]),
  /** Why the database is not idle: `2 connections`, `a fill runs`; null when nothing keeps it awake. */
  busy: z.string().nullable(),
  /** Since something was last asked of it, a health check excepted, or since its start. No date: clocks of the day may be set. Pods of older
   *  versions do not say it. */
  idle_ms: z.int().min(0).default(0),
  disk_bytes: z.int(),
  disk_limit_bytes: z.int(),
  /** Writes are refused with `disk_full` until there is room again. */
  is_disk_full: z.boolean(),
  /** What it has used since its start, `run` being another for each start: processors by all of its processes, those that ended included,
   *  and time. Null where the system does not say, and by pods of older versions. */
  metered: z
    .object({ run: z.string(), cpu_ms: z.int().min(0), awake_ms: z.int().min(0) })
    .nullable()
    .default(null),
});
export type PodHealth = z.infer<typeof podHealthSchema>;

/**
 * What a service pod is told: `pod.js service-pod`, this document on its standard input. In `run_folder` it listens on `pod.sock`
 * (`SERVICE_POD_ROUTES`, with the token), `http.sock` (the routes by plain HTTP; it checks keys itself) and `link.sock` (the link).
 */
export const servicePodSpecSchema = z.strictObject({
  role: z.literal("service-pod"),
  service_id: z.string(),
  database_id: z.string(),
  /** Grows with each start that was asked for: two instances of a service may run side by side. */
  instance: z.int(),
  organization: z.string(),
  database: z.string(),
  /** Within the database: `ingest`, `reports/ingest`. */
  service: z.string(),
  /** For messages: `cloud://acme:main/ingest`. */
  uri: z.string(),
  token: z.string(),
  /** Of its database's PostgreSQL, by its socket and a role of the service's own. */
  dsn: z.string(),
  /** Scratch files: answers that are put down before they are sent. */
  scratch_folder: z.string(),
  run_folder: z.string(),
  log_folder: z.string(),
  resources: resourcesSchema,
  limits: serviceSpecSchema.shape.limits,
  manifest: manifestSchema,
  /** The application's Python with the secrets in `env`; the project root is the release's tree. */
  runtime: runtimeSchema,
  keys: z.strictObject({
    /** SPKI, DER, base64. */
    public_key: z.string(),
    /** As `signSnapshot` wrote it; the control plane pushes later ones. */
    snapshot: z.string(),
  }),
  /** Its routes may export rows to this machine and to private networks. */
  may_export_private: z.boolean(),
  notices: z.array(z.string()),
});
export type ServicePodSpec = z.infer<typeof servicePodSpecSchema>;

/** `GET /v1/health` of a service pod: 200 once it serves, 503 with the same body before and while it drains. */
export const servicePodHealthSchema = z.object({
  version: z.string(),
  pid: z.int(),
  state: z.enum(["starting", "ready", "draining"]),
  in_flight: z.int(),
  /** Since its last request ended, or since its start. */
  idle_ms: z.int().min(0),
});
export type ServicePodHealth = z.infer<typeof servicePodHealthSchema>;
