import * as z from "zod";
import { opSchema, servicePlanSchema } from "../plan.ts";
import { pageQuerySchema } from "./control.ts";
import { failureSchema, podSchema, treeEntrySchema } from "./control-databases.ts";
import { serviceRouteSchema } from "./service-route.ts";

/** Bodies of hosted service routes (control-paths.ts). Times are ISO 8601 in UTC. */
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
  /** Increments by one with each `service update`. */
  number: z.int(),
  app_file: z.string(),
  /** Digest of the tree of project files. */
  files: sha256.nullable(),
  /** Hash of the image's environment; null for the base library alone. */
  image: sha256.nullable(),
  workers: z.int(),
  created_at: time,
  /** Who requested it. */
  created_by: z.string(),
  /** When it first served. Null for one that is starting or could not start. */
  served_at: time.nullable(),
  /** Its changes to routes, for people. */
  changes: z.array(z.string()),
});
export type Release = z.infer<typeof releaseSchema>;

/** The certificate of a service's host, if certificates are ordered from an authority. */
export const hostCertificateSchema = z.object({
  /** `missing`: none was issued yet, or it is of another host; `ended`: clients refuse it. */
  state: z.enum(["good", "ended", "missing"]),
  issued_at: time.nullable(),
  expires_at: time.nullable(),
  /** Why the last order failed; null when none has failed since the certificate was issued. */
  error: z.string().nullable(),
  /** After a failure: the time of the next order. */
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
  /** Why it is not AVAILABLE, where that is not obvious: `its database is asleep`; null otherwise. */
  reason: z.string().nullable(),
  /** The base URL of its routes, without a trailing slash; clients never compute it. Null if no gateway runs. */
  endpoint: z.string().nullable(),
  /** Null if none is ordered: without a domain, or with a certificate from files. */
  certificate: hostCertificateSchema.nullable(),
  generation: z.int(),
  /** The running release; null while nothing runs. */
  release: z.int().nullable(),
  /** The desired release. */
  desired_release: z.int(),
  app_file: z.string(),
  /** The database has other files or another image than the release: `service update` would apply them. */
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
  /** A database's name: only its services. */
  database: z.string().max(63).optional(),
});

const fileDigests = z.record(z.string().max(1_024), sha256);

const hostedServiceSelectionSchema = z.strictObject({
  app_file: z.string().max(1_000),
  folders: z.array(z.string().max(63)).max(20),
  /** One service of the file; null for all. */
  service: z.string().max(63).nullable(),
  /** SHA-256 of whole files on the command's machine, by path; null checks nothing. */
  file_digests: fileDigests.nullable(),
});

export const hostedServicePlanRequestSchema = z.strictObject({
  ...hostedServiceSelectionSchema.shape,
  /**
   * Null: the database's own files. Those that the application imports must match the person's
   * (`project_files_differ`). Else the tree on the command's machine, with uploaded chunks: the plan assumes that
   * database and tables are updated first.
   */
  files: z.array(treeEntrySchema).max(50_000).nullable().default(null),
  /** A succeeded preparation, whose files, image and size the plan uses; `files` is then null. */
  preparation: z.uuid().optional(),
});
export type HostedServicePlanRequest = z.input<typeof hostedServicePlanRequestSchema>;

export const hostedServicePlanSchema = z.object({
  plan: servicePlanSchema,
  /** The version of the plan's inputs. An update with another one is refused: `generation_moved`. */
  version: z.string(),
});

/** Always uses the database's own files. */
export const hostedServiceUpdateRequestSchema = z.strictObject({
  ...hostedServiceSelectionSchema.shape,
  expected_version: z.string(),
  allow_destructive: z.boolean(),
});
export type HostedServiceUpdateRequest = z.input<typeof hostedServiceUpdateRequestSchema>;

/** The accepted change: an operation for each service that changes. */
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

/** Stops and removes services of the target that the file does not define; a dry run only names them. */
export const hostedServicePruneRequestSchema = z.strictObject({
  app_file: z.string().max(1_000),
  folders: z.array(z.string().max(63)).max(20),
  file_digests: fileDigests.nullable(),
  dry_run: z.boolean(),
});

export const hostedServiceRollbackRequestSchema = z.strictObject({
  /** Null: the release before the running one. */
  release: z.int().min(1).nullable(),
});

/** Tables stay unchanged, and `ops` does not include them. None when the service already runs that release. */
export const hostedServiceRollbackPlanSchema = z.object({
  from: z.int(),
  to: z.int(),
  ops: z.array(opSchema),
});
export type HostedServiceRollbackPlan = z.infer<typeof hostedServiceRollbackPlanSchema>;

const count = (fallback: number, max: number) => z.coerce.number().int().min(1).max(max).default(fallback);
/** The response is NDJSON of `LogLine`s, oldest first; it follows with `follow=1`. */
export const hostedServiceLogsQuerySchema = z.strictObject({
  tail: count(200, 10_000),
  since_s: z.coerce.number().int().min(1).max(31_536_000).optional(),
  follow: z.enum(["0", "1"]).default("0"),
  /** Only lines that contain this text, ignoring case. */
  search: z.string().max(200).optional(),
  /** Only requests to this path: `/docs`. */
  route: z.string().max(500).optional(),
  request_id: z.string().max(200).optional(),
  /** Includes lines of health checks. */
  include_health: z.enum(["0", "1"]).default("0"),
});

const HEADER_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]{1,64}$/;
/** Headers that the gateway and the key set, and those of the connection. */
const NOT_SENT =
  /^(host|connection|keep-alive|content-length|transfer-encoding|expect|te|trailer|upgrade|proxy-.*|authorization|x-api-key|cookie|forwarded|x-forwarded-.*|x-real-ip)$/;

/** Maximum characters of a body: its files in base64, with the rest of their form. */
const MAX_CALL_BODY = 11_000_000;

/** A request to a route like that of any client, through the gateway. It has exactly the permissions of the key. */
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
  /** Sent unchanged, or as the bytes of its base64. */
  body: z.string().max(MAX_CALL_BODY).nullable().default(null),
  encoding: z.enum(["text", "base64"]).default("text"),
});
export type ServiceCall = z.input<typeof serviceCallSchema>;

/** The response of the service, or of the gateway, with any status. */
export const serviceCallAnswerSchema = z.object({
  status: z.int(),
  /** From the request's first byte to the last of its response. */
  ms: z.number(),
  /** The request's id in the service's log. */
  request_id: z.string(),
  headers: z.array(z.object({ name: z.string(), value: z.string() })),
  /** Null for bytes that are not text. */
  body: z.string().nullable(),
  /** Those bytes in base64, unless they are cut. */
  content: z.string().nullable(),
  bytes: z.int(),
  /** The response was longer or took longer than the limits of this call. */
  is_cut: z.boolean(),
});
export type ServiceCallAnswer = z.infer<typeof serviceCallAnswerSchema>;

/** Retention of a service's traffic data, in minutes. */
export const TRAFFIC_KEPT_MINUTES = 1_440;

const trafficShape = {
  requests: z.int(),
  /** Of these, responses with a status from 400 to 499. */
  client_errors: z.int(),
  /** Of these, responses with a status of 500 or more. */
  server_errors: z.int(),
  /** Within a tenth of the true value; null without requests. */
  p50_ms: z.number().nullable(),
  p95_ms: z.number().nullable(),
  p99_ms: z.number().nullable(),
};

/** Requests to a service through the gateway with a valid key; some seconds late. */
export const serviceTrafficSchema = z.object({
  total: z.object(trafficShape),
  /** The called routes, by their path in the service; `route` is null for all other paths. */
  routes: z.array(z.object({ route: z.string().nullable(), ...trafficShape })),
  /** Each minute by its start, with the current one last. */
  minutes: z.array(z.object({ at: time, ...trafficShape })),
});
export type ServiceTraffic = z.infer<typeof serviceTrafficSchema>;
export type TrafficReport = ServiceTraffic["total"];

export const serviceTrafficQuerySchema = z.strictObject({
  minutes: count(60, TRAFFIC_KEPT_MINUTES),
  /** `POST /docs`: total and minutes of this route alone. */
  route: z.string().max(300).optional(),
});
