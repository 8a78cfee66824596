import * as z from "zod";
import { opSchema, servicePlanSchema } from "../plan.ts";
import { pageQuerySchema } from "./control.ts";
import { failureSchema, podSchema, treeEntrySchema } from "./control-databases.ts";
import { serviceRouteSchema } from "./service-route.ts";

/** Bodies of what concerns hosted services (control-paths.ts). Times are ISO 8601 in UTC. */
const time = z.iso.datetime();
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

export const SERVICE_STATES = [
  "DEPLOYING",
  "STARTING",
  "UPDATING",
  "AVAILABLE",
  "STOPPING",
  "STOPPED",
  "FAILED",
] as const;
export type ServiceState = (typeof SERVICE_STATES)[number];

export const releaseSchema = z.object({
  /** Grows by one with each `service update`. */
  number: z.int(),
  app_file: z.string(),
  /** Digest of the tree of project files. */
  files: sha256.nullable(),
  /** Hash of the image's environment; null for the base library alone. */
  image: sha256.nullable(),
  workers: z.int(),
  created_at: time,
  /** Who asked for it. */
  created_by: z.string(),
  /** When it first served; null for one that has not: it is being started, or could not be. */
  served_at: time.nullable(),
  /** What it changed of routes, for a person. */
  changes: z.array(z.string()),
});
export type Release = z.infer<typeof releaseSchema>;

/** The certificate of a service's host, where certificates are ordered from an authority. */
export const hostCertificateSchema = z.object({
  /** `missing`: none was issued yet, or it is of another host; `ended`: clients refuse it. */
  state: z.enum(["good", "ended", "missing"]),
  issued_at: time.nullable(),
  expires_at: time.nullable(),
  /** Why the last order failed; null when none has failed since the certificate was issued. */
  error: z.string().nullable(),
  /** After a failure: when the next is ordered. */
  next_order_at: time.nullable(),
});
export type HostCertificate = z.infer<typeof hostCertificateSchema>;

export const hostedServiceSchema = z.object({
  id: z.string(),
  /** Within the database: `ingest`, `reports/ingest`. */
  name: z.string(),
  /** `cloud://acme:main/ingest` */
  uri: z.string(),
  organization: z.string(),
  database: z.string(),
  state: z.enum(SERVICE_STATES),
  /** Why it is not AVAILABLE, where a person would ask: `its database is asleep`; null otherwise. */
  reason: z.string().nullable(),
  /** Where its routes are, without a slash at the end; never computed by a client. Null where no gateway runs. */
  endpoint: z.string().nullable(),
  /** Null where none is ordered: without a domain, or with a certificate from files. */
  certificate: hostCertificateSchema.nullable(),
  generation: z.int(),
  /** What it runs; null while nothing runs. */
  release: z.int().nullable(),
  /** What it shall run. */
  desired_release: z.int(),
  app_file: z.string(),
  /** The database has other files or another image than the release: `service update` would move it. */
  update_pending: z.boolean(),
  workers: z.int(),
  routes: z.array(serviceRouteSchema),
  failure: failureSchema.nullable(),
  pods: z.array(podSchema),
  operation: z.object({ id: z.string(), kind: z.string() }).nullable(),
  created_at: time,
});
export type HostedService = z.infer<typeof hostedServiceSchema>;

export const hostedServiceListQuerySchema = z.strictObject({
  ...pageQuerySchema.shape,
  /** A database's name: its services alone. */
  database: z.string().max(63).optional(),
});

const fileDigests = z.record(z.string().max(1_024), sha256);

const hostedServiceSelectionSchema = z.strictObject({
  app_file: z.string().max(1_000),
  folders: z.array(z.string().max(63)).max(20),
  /** One service of the file; null for all. */
  service: z.string().max(63).nullable(),
  /** SHA-256 of whole files where the command runs, by path; null checks nothing. */
  file_digests: fileDigests.nullable(),
});

export const hostedServicePlanRequestSchema = z.strictObject({
  ...hostedServiceSelectionSchema.shape,
  /**
   * Null: the database's own files, of which those that the application imports must be the person's (`project_files_differ`). Else the tree as
   * it is where the command runs, whose chunks were uploaded: what an update would do once the database and its tables have followed it.
   */
  files: z.array(treeEntrySchema).max(50_000).nullable().default(null),
  /** A preparation that has succeeded, whose files, image and size are planned for; `files` is null then. */
  preparation: z.uuid().optional(),
});
export type HostedServicePlanRequest = z.input<typeof hostedServicePlanRequestSchema>;

export const hostedServicePlanSchema = z.object({
  plan: servicePlanSchema,
  /** Of what the plan was made against; an update with another one is refused: `generation_moved`. */
  version: z.string(),
});

/** Always of the database's own files. */
export const hostedServiceUpdateRequestSchema = z.strictObject({
  ...hostedServiceSelectionSchema.shape,
  expected_version: z.string(),
  allow_destructive: z.boolean(),
});
export type HostedServiceUpdateRequest = z.input<typeof hostedServiceUpdateRequestSchema>;

/** What was asked for and is worked at: an operation for each service that changes. */
export const hostedServiceUpdateAnswerSchema = z.object({
  plan: servicePlanSchema,
  operations: z.array(z.object({ id: z.string(), kind: z.string(), service: z.string() })),
});

/** `operation` is null when there was nothing to do. */
export const hostedServiceChangeSchema = z.object({
  service: hostedServiceSchema,
  operation: z.object({ id: z.string(), kind: z.string() }).nullable(),
});
export type HostedServiceChange = z.infer<typeof hostedServiceChangeSchema>;

/** Services of the target that the file does not define are stopped and forgotten; a dry run only names them. */
export const hostedServicePruneRequestSchema = z.strictObject({
  app_file: z.string().max(1_000),
  folders: z.array(z.string().max(63)).max(20),
  file_digests: fileDigests.nullable(),
  dry_run: z.boolean(),
});

export const hostedServiceRollbackRequestSchema = z.strictObject({
  /** Null: the release before the one that runs. */
  release: z.int().min(1).nullable(),
});

/** Tables stay as they are, and nothing of `ops` concerns them. None when the service runs that release already. */
export const hostedServiceRollbackPlanSchema = z.object({
  from: z.int(),
  to: z.int(),
  ops: z.array(opSchema),
});
export type HostedServiceRollbackPlan = z.infer<typeof hostedServiceRollbackPlanSchema>;

const count = (fallback: number, most: number) => z.coerce.number().int().min(1).max(most).default(fallback);
/** Answers NDJSON of `LogLine`s, the oldest first, and follows with `follow=1`. */
export const hostedServiceLogsQuerySchema = z.strictObject({
  tail: count(200, 10_000),
  since_s: z.coerce.number().int().min(1).max(31_536_000).optional(),
  follow: z.enum(["0", "1"]).default("0"),
  /** Only lines that hold this text, whatever the case. */
  search: z.string().max(200).optional(),
  /** Only requests to this path: `/docs`. */
  route: z.string().max(500).optional(),
  request_id: z.string().max(200).optional(),
  /** Lines of health checks as well. */
  include_health: z.enum(["0", "1"]).default("0"),
});

const HEADER_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]{1,64}$/;
/** What the gateway and the key decide, and what belongs to the connection. */
const NOT_SENT =
  /^(host|connection|keep-alive|content-length|transfer-encoding|expect|te|trailer|upgrade|proxy-.*|authorization|x-api-key|cookie|forwarded|x-forwarded-.*|x-real-ip)$/;

/** A request to a route as any client would send it, by way of the gateway. The call may do what the key may, and nothing else. */
export const serviceCallSchema = z.strictObject({
  method: z.enum(["GET", "POST", "PUT", "PATCH", "DELETE"]),
  /** Within the service, with its query: `/docs?limit=2`. */
  path: z
    .string()
    .max(8_000)
    .regex(/^\/[!-~]*$/, "begins with a slash and has no spaces or line breaks"),
  api_key: z
    .string()
    .max(300)
    .regex(/^[!-~]+$/, "is not an API key"),
  headers: z
    .record(
      z
        .string()
        .regex(HEADER_NAME, "is not a header name in lower case")
        .refine((name) => !NOT_SENT.test(name), "is not a caller's to send"),
      z
        .string()
        .max(2_000)
        .regex(/^[\t -~]*$/, "has characters that no header may have"),
    )
    .refine((headers) => Object.keys(headers).length <= 20, "has more than 20 headers")
    .default({}),
  /** Goes as it is. */
  body: z.string().max(200_000).nullable().default(null),
});
export type ServiceCall = z.input<typeof serviceCallSchema>;

/** What the service, or the gateway before it, answered, whatever the status. */
export const serviceCallAnswerSchema = z.object({
  status: z.int(),
  /** From the request's first byte to the last of its answer. */
  ms: z.number(),
  /** By which the service's log tells of it. */
  request_id: z.string(),
  headers: z.array(z.object({ name: z.string(), value: z.string() })),
  /** Null for bytes that are no text. */
  body: z.string().nullable(),
  bytes: z.int(),
  /** More followed than is told here, or it went on for longer than is waited for. */
  is_cut: z.boolean(),
});
export type ServiceCallAnswer = z.infer<typeof serviceCallAnswerSchema>;

/** How long it is known what was asked of a service. */
export const TRAFFIC_KEPT_MINUTES = 1_440;

const trafficShape = {
  requests: z.int(),
  /** Of these, answered by a status from 400 to 499. */
  client_errors: z.int(),
  /** Of these, answered by a status from 500 on. */
  server_errors: z.int(),
  /** Within a tenth of the true value; null where there was no request. */
  p50_ms: z.number().nullable(),
  p95_ms: z.number().nullable(),
  p99_ms: z.number().nullable(),
};

/** What came to a service by the gateway, with a key that is good; some seconds behind. */
export const serviceTrafficSchema = z.object({
  total: z.object(trafficShape),
  /** Those that were called, by their place in the service; `route` is null for all paths that are none of its routes. */
  routes: z.array(z.object({ route: z.string().nullable(), ...trafficShape })),
  /** Each minute by its beginning, the one that has not ended last. */
  minutes: z.array(z.object({ at: time, ...trafficShape })),
});
export type ServiceTraffic = z.infer<typeof serviceTrafficSchema>;
export type TrafficReport = ServiceTraffic["total"];

export const serviceTrafficQuerySchema = z.strictObject({
  minutes: count(60, TRAFFIC_KEPT_MINUTES),
  /** `POST /docs`: total and minutes of this route alone. */
  route: z.string().max(300).optional(),
});
