import type { RoutePermission } from "../permissions.ts";
import type { Route } from "./api.ts";

/** Maximum body size of most routes. */
export const BODY_BYTES = 300_000;
/** For routes that take a list of a project's files. */
export const TREE_BODY_BYTES = 32_000_000;

/** Maximum bytes of files in a call of a service, and of a file in its response. */
export const CALL_FILE_BYTES = 8_000_000;
/** These in base64, with the rest of their request. */
const CALL_BODY_BYTES = 12_000_000;

/** An entry of the table of routes. */
export interface ControlRoute extends Route, More {
  readonly permission: RoutePermission;
  /** The summary in the OpenAPI document. */
  readonly summary: string;
}

interface More extends Pick<Route, "answers" | "streams" | "is_safe"> {
  /** Keys with `manage` grants may also call it, for their granted services. */
  readonly by_grant?: true;
  /** Keys with an `access` grant for the whole database may also call it. */
  readonly by_access?: true;
  /** Maximum body size, where it is more than `BODY_BYTES`. */
  readonly body_bytes?: number;
}

const ORG = "/v1/orgs/:org";
const DATABASE = `${ORG}/databases/:db` as const;
const SERVICE = `${DATABASE}/services/:service` as const;
const TREE = { body_bytes: TREE_BODY_BYTES } as const;
const SAFE = { is_safe: true } as const;
const SAFE_AND_TREE = { is_safe: true, body_bytes: TREE_BODY_BYTES } as const;
const GRANT = { by_grant: true } as const;
const ACCESS = { by_access: true } as const;
const SAFE_ACCESS = { by_access: true, is_safe: true } as const;
const GRANT_AND_TREE = { by_grant: true, body_bytes: TREE_BODY_BYTES } as const;

const [get, post, put, patch, remove] = [line("GET"), line("POST"), line("PUT"), line("PATCH"), line("DELETE")];

function line<const Method extends Route["method"]>(method: Method) {
  return <const Path extends string, const Permission extends RoutePermission, const Extra extends More = object>(
    path: Path,
    permission: Permission,
    summary: string,
    more?: Extra,
  ) =>
    ({ method, path, permission, summary, ...more }) as {
      readonly method: Method;
      readonly path: Path;
      readonly permission: Permission;
      readonly summary: string;
    } & Extra;
}

/**
 * Methods, paths and permissions of the control plane's API (schemas: control-api.ts). The command needs the paths
 * without the schemas. `:org` is the name of an organization of the caller. Any other name gives
 * `organization_not_found`, whether it exists or not. Lists return `{items, next}` and take `?limit=&cursor=`. Sign-up,
 * sign-in, device flow and password reset are under `AUTH_PATH` (docs/identity.md).
 */
export const CONTROL_ROUTES = {
  service: get("/v1/service", "public", "Describe this server"),
  whoami: get("/v1/whoami", "signed_in", "Show who the credential belongs to"),
  /** Creates the first account with the one-time token that the server printed; sets the session cookie. */
  setUp: post("/v1/setup", "public", "Create the first account"),

  sessionList: get("/v1/sessions", "signed_in", "List your sessions"),
  sessionRevoke: remove("/v1/sessions/:id", "signed_in", "End a session"),
  sessionSwitch: put("/v1/session/org", "signed_in", "Switch the session to an organization"),
  accountShow: get("/v1/account/security", "signed_in", "Show how one's own account is secured"),
  passwordChange: post("/v1/account/password", "signed_in", "Change your password"),
  /** Proves the person's identity again, for actions that fail with `reauthentication_required`. */
  sessionConfirm: post("/v1/session/confirm", "signed_in", "Confirm your identity in the session"),
  factorBegin: post("/v1/account/second-factor", "signed_in", "Begin the set-up of a second factor"),
  /** Returns the recovery codes, once. */
  factorEnable: post("/v1/account/second-factor/enable", "signed_in", "Turn the second factor on with its first code"),
  factorDisable: post("/v1/account/second-factor/disable", "signed_in", "Remove the second factor"),
  /** Describes the sender of a device code, for the page that confirms it. */
  deviceShow: get("/v1/devices/:code", "signed_in", "Show who asks to sign in"),

  orgList: get("/v1/orgs", "signed_in", "List your organizations"),
  orgCreate: post("/v1/orgs", "signed_in", "Create an organization"),
  orgShow: get(ORG, "org.read", "Show an organization"),
  orgUpdate: patch(ORG, "org.update", "Change its display name"),

  memberList: get(`${ORG}/members`, "member.read", "List members"),
  memberUpdate: patch(`${ORG}/members/:id`, "member.change", "Change a member's role"),
  /** Anyone may leave: one's own membership needs no permission. */
  memberRemove: remove(`${ORG}/members/:id`, "member.read", "Remove a member, or leave"),
  invitationList: get(`${ORG}/invitations`, "member.invite", "List open invitations"),
  /** Returns the link once, whether it was mailed or not. */
  invitationCreate: post(`${ORG}/invitations`, "member.invite", "Invite a member"),
  invitationRevoke: remove(`${ORG}/invitations/:id`, "member.invite", "Withdraw an invitation"),
  invitationShow: get("/v1/invitations/:token", "public", "Show an invitation"),
  invitationAccept: post("/v1/invitations/:token/accept", "signed_in", "Join by an invitation"),

  keyList: get(`${ORG}/keys`, "key.read", "List API keys"),
  keyCreate: post(`${ORG}/keys`, "key.create", "Create an API key"),
  /** Anyone may delete their own keys; those of others require key.delete. */
  keyDelete: remove(`${ORG}/keys/:name`, "key.read", "Delete a key"),
  keyRotate: post(`${ORG}/keys/:name/rotate`, "key.read", "Give a key a new secret"),

  secretList: get(`${ORG}/secrets`, "secret.read", "List secrets"),
  secretSet: put(`${ORG}/secrets/:name`, "secret.write", "Set a secret of the organization"),
  secretDelete: remove(`${ORG}/secrets/:name`, "secret.write", "Delete a secret of the organization"),
  databaseSecretList: get(`${DATABASE}/secrets`, "secret.read", "List the secrets that a database gets"),
  databaseSecretSet: put(`${DATABASE}/secrets/:name`, "secret.write", "Set a secret of a database"),
  databaseSecretDelete: remove(`${DATABASE}/secrets/:name`, "secret.write", "Delete a secret of a database"),

  databaseList: get(`${ORG}/databases`, "org.read", "List databases"),
  databaseShow: get(DATABASE, "org.read", "Show a database"),

  /** For Prometheus, with the databases of one organization. `/metrics` of the server contains no tenant names. */
  databaseMetrics: get(`${ORG}/metrics`, "data.read", "Read state and usage of the databases for Prometheus", {
    answers: "text",
  }),

  /** The effect of an update; changes nothing, also for a database that does not exist. */
  databasePlan: post(
    `${DATABASE}/plan`,
    "database.update",
    "Show what an update of a database would do",
    SAFE_AND_TREE,
  ),
  /** Creates a database that does not exist. All blobs must have been uploaded (`blobs_missing`). */
  databaseUpdate: post(`${DATABASE}/update`, "database.update", "Update a database, or create it", TREE),
  /** All blobs of sent files must have been uploaded (`blobs_missing`). */
  databaseBuildImage: post(`${DATABASE}/build-image`, "database.update", "Rebuild the image of a database", TREE),
  databaseStart: post(`${DATABASE}/start`, "database.update", "Wake a database"),
  databaseStop: post(`${DATABASE}/stop`, "database.update", "Stop the pods of a database; its data stays"),
  databaseRestart: post(
    `${DATABASE}/restart`,
    "database.update",
    "Restart the pods of a database; they read new secrets",
  ),
  databaseRetry: post(`${DATABASE}/retry`, "database.update", "Retry a database that FAILED"),
  databaseDelete: remove(DATABASE, "database.delete", "Delete a database; it can be undeleted for some days"),
  databaseUndelete: post(`${DATABASE}/undelete`, "database.delete", "Restore a deleted database"),
  databaseLogs: get(`${DATABASE}/logs`, "data.read", "Read the log of a database's pod, or of its builds, as NDJSON", {
    answers: "lines",
  }),
  /** NDJSON; with `follow=1` it ends when the operation has ended. */
  operationLog: get(`${ORG}/operations/:id/log`, "data.read", "Read the output of an operation as NDJSON", {
    answers: "lines",
  }),

  blobMissing: post(
    `${ORG}/blobs/missing`,
    "database.update",
    "List the blobs that the organization lacks",
    SAFE_AND_TREE,
  ),
  blobUpload: put(`${ORG}/blobs`, "database.update", "Upload blobs", { streams: "application/x-tar", is_safe: true }),

  schemaPlan: post(
    `${DATABASE}/schema/plan`,
    "database.update",
    "Show what an update of the tables would do",
    SAFE_AND_TREE,
  ),
  /** NDJSON: `progress` lines, then one `done` or `error`. */
  schemaApply: post(
    `${DATABASE}/schema/apply`,
    "database.update",
    "Create or change tables to match the application file",
    { body_bytes: TREE_BODY_BYTES, answers: "events" },
  ),

  /** Without a version, it only shows what would be dropped. */
  schemaPrune: post(
    `${DATABASE}/schema/prune`,
    "database.update",
    "Drop tables that the application file does not declare",
    TREE,
  ),
  queryExplain: post(
    `${DATABASE}/queries/explain`,
    "database.update",
    "Explain a query of the application file",
    SAFE_AND_TREE,
  ),

  tableList: get(`${DATABASE}/tables`, "data.read", "List tables"),
  tableShow: get(`${DATABASE}/tables/:table`, "data.read", "Show a table"),
  rowList: get(`${DATABASE}/tables/:table/rows`, "data.read", "Read rows"),
  rowShow: get(`${DATABASE}/tables/:table/row`, "data.read", "Read a row by its key"),
  rowCount: get(`${DATABASE}/tables/:table/count`, "data.read", "Count rows"),
  tableDefinition: get(`${DATABASE}/tables/:table/definition`, "data.read", "Read the definition of a table"),
  historyList: get(`${DATABASE}/history`, "data.read", "List the changes of tables"),
  /** NDJSON: `progress` lines, then one `done` or `error`. */
  tableChange: post(`${DATABASE}/changes`, "database.update", "Create, change or drop a table or folder", {
    body_bytes: TREE_BODY_BYTES,
    answers: "events",
  }),
  /** Functions of a running program, which queries and changes of others then name too. They end with their lease. */
  programStore: post(`${DATABASE}/programs`, "database.update", "Store functions of a running program", TREE),
  /** Neither wakes a database nor keeps it awake. */
  programRenew: put(
    `${DATABASE}/programs/:program`,
    "database.update",
    "Renew the lease of a program's functions, and store more",
    TREE,
  ),
  programEnd: remove(`${DATABASE}/programs/:program`, "database.update", "Delete the functions of a program"),
  /** The rows of an expression tree, as messages. */
  queryRun: post(`${DATABASE}/query`, "data.read", "Run a query", { answers: "rows", is_safe: true }),
  /** The rows of a statement that a role which can only read runs, as messages. */
  sqlRun: post(`${DATABASE}/sql`, "data.read", "Run SQL that reads", { answers: "rows", is_safe: true }),
  /** A session of PostgreSQL's protocol, which lives as long as the response (psql.ts). */
  psqlRead: post(`${DATABASE}/psql`, "data.read", "Open a session of psql that reads", {
    answers: "lines",
    is_safe: true,
  }),
  psqlWrite: post(`${DATABASE}/psql/write`, "data.write", "Open a session of psql that writes rows", {
    answers: "lines",
    is_safe: true,
  }),
  /** A connection of a session, whose password its client sends to PostgreSQL. */
  psqlConnect: post(`${DATABASE}/psql/:session`, "data.read", "Connect to PostgreSQL in a session", {
    streams: "application/octet-stream",
    answers: "tunnel",
    is_safe: true,
  }),
  /** Takes and returns the same as an insert route over the whole table: a row, an array, NDJSON. */
  rowInsert: post(`${DATABASE}/tables/:table/rows`, "data.write", "Insert rows", { streams: "application/json" }),
  /** Stores no row, but files that functions make are objects of the media store until they are collected. */
  rowCompute: post(`${DATABASE}/tables/:table/compute`, "data.write", "Compute rows and store none", {
    streams: "application/json",
    is_safe: true,
  }),
  /** The bodies of these two are in data-writes.ts. */
  rowUpdate: patch(`${DATABASE}/tables/:table/rows`, "data.write", "Update rows", { streams: "application/json" }),
  rowDelete: post(`${DATABASE}/tables/:table/rows/delete`, "data.write", "Delete rows", {
    streams: "application/json",
  }),
  /** By the address in a row. HTML, SVG and documents are downloaded, never shown. */
  fileShow: get(`${DATABASE}/file`, "data.read", "Read the file of a media cell", { answers: "file" }),

  mediaList: get(`${DATABASE}/media`, "data.read", "List files of the media store", ACCESS),
  mediaUsage: get(
    `${DATABASE}/media/usage`,
    "data.read",
    "Show the size of the media store and of its folders",
    ACCESS,
  ),
  /** Removes names; content stays while a row or another name refers to it. */
  mediaRemove: post(`${DATABASE}/media/remove`, "data.write", "Remove files of the media store", ACCESS),
  /** Addresses need no credential until they expire. */
  mediaPrune: post(
    `${DATABASE}/media/prune`,
    "data.write",
    "Delete the objects of the media store that no row and no name refers to",
    ACCESS,
  ),
  mediaRead: post(`${DATABASE}/media/read`, "data.read", "Make addresses that files can be read from", SAFE_ACCESS),
  mediaWrite: post(`${DATABASE}/media/write`, "data.write", "Make addresses that files can be put to", SAFE_ACCESS),

  /** For all databases, or for `?database=`. */
  serviceList: get(`${ORG}/services`, "org.read", "List services", GRANT),
  /** `:service` is a path within the database: `ingest`, `reports/ingest`. */
  serviceShow: get(SERVICE, "org.read", "Show a service", GRANT),
  /** Uses the database's own project files, which must match the person's; changes nothing. */
  servicePlan: post(`${DATABASE}/services/plan`, "service.update", "Show what an update of services would do", {
    ...GRANT_AND_TREE,
    ...SAFE,
  }),
  /** Makes a release for each service that changes and starts it. */
  serviceUpdate: post(
    `${DATABASE}/services/update`,
    "service.update",
    "Start services, or update them to the current files and image",
    GRANT_AND_TREE,
  ),
  servicePrune: post(
    `${DATABASE}/services/prune`,
    "service.update",
    "Stop and remove the services that the application file does not define",
    GRANT_AND_TREE,
  ),
  serviceRestart: post(
    `${SERVICE}/restart`,
    "service.update",
    "Restart a service, so that it reads new secrets; no request fails",
    GRANT,
  ),
  serviceStop: post(`${SERVICE}/stop`, "service.update", "Stop a service", GRANT),
  serviceRetry: post(`${SERVICE}/retry`, "service.update", "Start a service that is stopped or FAILED", GRANT),
  serviceRollback: post(`${SERVICE}/rollback`, "service.update", "Roll back a service to a previous release", GRANT),
  /** The changes to the service's routes, and the tables that prevent the rollback; changes nothing. */
  serviceRollbackPlan: post(
    `${SERVICE}/rollback/plan`,
    "service.update",
    "Show what a rollback to a previous release would do",
    { ...GRANT, ...SAFE },
  ),
  /** Builds the image of a future update and reads the application file with it. Nothing that runs changes. */
  preparationBegin: post(
    `${DATABASE}/preparations`,
    "database.update",
    "Build and check a deployment without applying it",
    TREE,
  ),
  /** All later changes to a database can be undone as one. */
  deployBegin: post(`${DATABASE}/deploys`, "database.update", "Begin a deployment"),
  /** Send it at least every half minute during a deployment. Until then no one can undo it or start another. */
  deployAlive: post(`${DATABASE}/deploys/:id/alive`, "database.update", "Report that a deployment continues", SAFE),
  deployEnd: post(`${DATABASE}/deploys/:id/end`, "database.update", "Report that a deployment has ended"),
  deployRollbackPlan: post(
    `${DATABASE}/deploys/rollback/plan`,
    "database.update",
    "Show what undoing the last deployment would do",
    SAFE,
  ),
  /** Send it again after its operations have ended, until it starts none. */
  deployRollback: post(`${DATABASE}/deploys/rollback`, "database.update", "Undo the last deployment"),
  /** Newest first; the last ten are kept. */
  releaseList: get(`${SERVICE}/releases`, "org.read", "List the releases of a service", GRANT),
  serviceLogs: get(`${SERVICE}/logs`, "data.read", "Read the log of a service as NDJSON", {
    by_grant: true,
    answers: "lines",
  }),
  /** OpenAPI 3.1 of the running release, else of the desired one. */
  serviceOpenapi: get(`${SERVICE}/openapi`, "org.read", "Describe the routes of a service", GRANT),
  /** For people on a page: programs call the service's own address. */
  serviceCall: post(
    `${SERVICE}/call`,
    "data.write",
    "Call a route of a service with an API key, and show the response",
    { body_bytes: CALL_BODY_BYTES },
  ),
  serviceTraffic: get(`${SERVICE}/traffic`, "data.read", "Read a service's request counts, statuses and latencies"),

  errorList: get(`${DATABASE}/errors`, "data.read", "List computed cells that failed"),
  recomputePlan: post(
    `${DATABASE}/recompute/plan`,
    "database.update",
    "Show what computing columns again would do",
    SAFE,
  ),
  /** NDJSON: `progress` lines, then one `done` or `error`. */
  recompute: post(`${DATABASE}/recompute`, "database.update", "Recompute columns", { answers: "events" }),
  jobList: get(`${DATABASE}/jobs`, "data.read", "List background jobs and their progress"),
  jobCancel: post(`${DATABASE}/jobs/cancel`, "database.update", "Cancel a job"),

  operationList: get(`${ORG}/operations`, "operation.read", "List operations"),
  operationShow: get(
    `${ORG}/operations/:id`,
    "operation.read",
    "Show an operation; `?wait_ms=` answers when it has ended, or then",
    GRANT,
  ),
  operationCancel: post(`${ORG}/operations/:id/cancel`, "operation.read", "Cancel an operation"),
  /** A page, or with `accept: text/event-stream` an endless stream; resumes by `last-event-id`. */
  eventList: get(`${ORG}/events`, "event.read", "Read the audit log"),

  webhookList: get(`${ORG}/webhooks`, "webhook.read", "List webhooks"),
  webhookCreate: post(`${ORG}/webhooks`, "webhook.write", "Create a webhook"),
  webhookDelete: remove(`${ORG}/webhooks/:id`, "webhook.write", "Delete a webhook"),
  webhookResume: post(`${ORG}/webhooks/:id/resume`, "webhook.write", "Resume a webhook that was paused"),
  deliveryList: get(`${ORG}/webhooks/:id/deliveries`, "webhook.read", "List deliveries and their responses"),
  deliveryReplay: post(`${ORG}/webhooks/:id/deliveries/:delivery/replay`, "webhook.write", "Repeat a delivery"),
} as const;

/** The table's entry of a route, with optional fields. */
export function controlRoute(name: ControlRouteName): ControlRoute {
  return CONTROL_ROUTES[name];
}

export type ControlRouteName = keyof typeof CONTROL_ROUTES;

/** Path of better-auth's routes: `POST /v1/auth/sign-up/email`, `/v1/auth/device/code` and so on. */
export const AUTH_PATH = "/v1/auth";
/** The `client_id` of the command in the device flow; no other is accepted. */
export const DEVICE_CLIENT_ID = "cli";
