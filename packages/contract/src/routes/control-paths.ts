import { ACCOUNT_ROUTES } from "./control-account-paths.ts";
import { type ControlRoute, TREE_BODY_BYTES } from "./control-route.ts";
import { SERVICE_ROUTES } from "./control-service-paths.ts";

/**
 * Methods, paths and permissions of the control plane's API (bodies: control-schemas.ts). The command needs the paths
 * without the schemas. `:org` is an organization's name, of which the caller is a member: any other answers
 * `organization_not_found`, whether it exists or not. What lists answers `{items, next}` and takes `?limit=&cursor=`.
 * Sign-up, sign-in, device flow and password reset are under `AUTH_PATH` (docs/identity.md).
 */
export const CONTROL_ROUTES = {
  service: { method: "GET", path: "/v1/service", permission: "public", summary: "What this server is" },
  whoami: { method: "GET", path: "/v1/whoami", permission: "signed_in", summary: "Who the credential is" },
  /** Makes the first account by the one-time token that the server printed; sets the session cookie. */
  setUp: { method: "POST", path: "/v1/setup", permission: "public", summary: "Make the first account" },

  sessionList: { method: "GET", path: "/v1/sessions", permission: "signed_in", summary: "List one's own sessions" },
  sessionRevoke: { method: "DELETE", path: "/v1/sessions/:id", permission: "signed_in", summary: "End a session" },
  sessionSwitch: {
    method: "PUT",
    path: "/v1/session/org",
    permission: "signed_in",
    summary: "Switch the session to an organization",
  },
  ...ACCOUNT_ROUTES,
  /** What a device code was asked by, for the page that confirms it. */
  deviceShow: {
    method: "GET",
    path: "/v1/devices/:code",
    permission: "signed_in",
    summary: "Show who asks to sign in",
  },

  orgList: { method: "GET", path: "/v1/orgs", permission: "signed_in", summary: "List one's organizations" },
  orgCreate: { method: "POST", path: "/v1/orgs", permission: "signed_in", summary: "Create an organization" },
  orgShow: { method: "GET", path: "/v1/orgs/:org", permission: "org.read", summary: "Show an organization" },
  orgUpdate: { method: "PATCH", path: "/v1/orgs/:org", permission: "org.update", summary: "Change how it is shown" },

  memberList: { method: "GET", path: "/v1/orgs/:org/members", permission: "member.read", summary: "List members" },
  memberUpdate: {
    method: "PATCH",
    path: "/v1/orgs/:org/members/:id",
    permission: "member.change",
    summary: "Change a member's role",
  },
  /** Anyone may leave: their own membership needs no permission. */
  memberRemove: {
    method: "DELETE",
    path: "/v1/orgs/:org/members/:id",
    permission: "member.read",
    summary: "Remove a member, or leave",
  },
  invitationList: {
    method: "GET",
    path: "/v1/orgs/:org/invitations",
    permission: "member.invite",
    summary: "List open invitations",
  },
  /** Answers the link once, whether it was also mailed or not. */
  invitationCreate: {
    method: "POST",
    path: "/v1/orgs/:org/invitations",
    permission: "member.invite",
    summary: "Invite a member",
  },
  invitationRevoke: {
    method: "DELETE",
    path: "/v1/orgs/:org/invitations/:id",
    permission: "member.invite",
    summary: "Withdraw an invitation",
  },
  invitationShow: {
    method: "GET",
    path: "/v1/invitations/:token",
    permission: "public",
    summary: "Show an invitation",
  },
  invitationAccept: {
    method: "POST",
    path: "/v1/invitations/:token/accept",
    permission: "signed_in",
    summary: "Join by an invitation",
  },

  keyList: { method: "GET", path: "/v1/orgs/:org/keys", permission: "key.read", summary: "List API keys" },
  keyCreate: { method: "POST", path: "/v1/orgs/:org/keys", permission: "key.create", summary: "Create an API key" },
  /** Own keys by anyone, those of others with key.delete. */
  keyDelete: { method: "DELETE", path: "/v1/orgs/:org/keys/:name", permission: "key.read", summary: "Delete a key" },
  keyRotate: {
    method: "POST",
    path: "/v1/orgs/:org/keys/:name/rotate",
    permission: "key.read",
    summary: "Give a key a new secret",
  },

  secretList: { method: "GET", path: "/v1/orgs/:org/secrets", permission: "secret.read", summary: "List secrets" },
  secretSet: {
    method: "PUT",
    path: "/v1/orgs/:org/secrets/:name",
    permission: "secret.write",
    summary: "Set a secret of the organization",
  },
  secretDelete: {
    method: "DELETE",
    path: "/v1/orgs/:org/secrets/:name",
    permission: "secret.write",
    summary: "Delete a secret of the organization",
  },
  databaseSecretList: {
    method: "GET",
    path: "/v1/orgs/:org/databases/:db/secrets",
    permission: "secret.read",
    summary: "List the secrets that a database gets",
  },
  databaseSecretSet: {
    method: "PUT",
    path: "/v1/orgs/:org/databases/:db/secrets/:name",
    permission: "secret.write",
    summary: "Set a secret of a database",
  },
  databaseSecretDelete: {
    method: "DELETE",
    path: "/v1/orgs/:org/databases/:db/secrets/:name",
    permission: "secret.write",
    summary: "Delete a secret of a database",
  },

  databaseList: { method: "GET", path: "/v1/orgs/:org/databases", permission: "org.read", summary: "List databases" },
  databaseShow: {
    method: "GET",
    path: "/v1/orgs/:org/databases/:db",
    permission: "org.read",
    summary: "Show a database",
  },

  /** For Prometheus, of the databases of one organization: `/metrics` of the server has no tenant's name in it. */
  databaseMetrics: {
    method: "GET",
    path: "/v1/orgs/:org/metrics",
    permission: "data.read",
    summary: "Read state and usage of the databases for Prometheus",
    answers: "text/plain",
  },

  /** What an update would do; changes nothing, also for a database that does not exist. */
  databasePlan: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/plan",
    permission: "database.update",
    summary: "Show what an update of a database would do",
    body_bytes: TREE_BODY_BYTES,
  },
  /** Creates a database that does not exist. All blobs must have been uploaded (`blobs_missing`). */
  databaseUpdate: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/update",
    permission: "database.update",
    summary: "Update a database, or create it",
    body_bytes: TREE_BODY_BYTES,
  },
  /** Of files that are sent all blobs must have been uploaded (`blobs_missing`). */
  databaseBuildImage: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/build-image",
    permission: "database.update",
    summary: "Rebuild the image of a database",
    body_bytes: TREE_BODY_BYTES,
  },
  databaseStart: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/start",
    permission: "database.update",
    summary: "Wake a database",
  },
  databaseStop: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/stop",
    permission: "database.update",
    summary: "Stop the pods of a database; its data stays",
  },
  databaseRestart: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/restart",
    permission: "database.update",
    summary: "Restart the pods of a database; they read new secrets",
  },
  databaseRetry: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/retry",
    permission: "database.update",
    summary: "Retry a database that FAILED",
  },
  databaseDelete: {
    method: "DELETE",
    path: "/v1/orgs/:org/databases/:db",
    permission: "database.delete",
    summary: "Delete a database; it can be undeleted for some days",
  },
  databaseUndelete: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/undelete",
    permission: "database.delete",
    summary: "Restore a deleted database",
  },
  databaseLogs: {
    method: "GET",
    path: "/v1/orgs/:org/databases/:db/logs",
    permission: "data.read",
    summary: "Read the log of a database's pod, or of its builds, as NDJSON",
    answers: "application/x-ndjson",
  },
  /** NDJSON; with `follow=1` it ends when the operation has. */
  operationLog: {
    method: "GET",
    path: "/v1/orgs/:org/operations/:id/log",
    permission: "data.read",
    summary: "Read the output of an operation as NDJSON",
    answers: "application/x-ndjson",
  },

  blobMissing: {
    method: "POST",
    path: "/v1/orgs/:org/blobs/missing",
    permission: "database.update",
    summary: "Say which blobs the organization lacks",
    body_bytes: TREE_BODY_BYTES,
  },
  blobUpload: {
    method: "PUT",
    path: "/v1/orgs/:org/blobs",
    permission: "database.update",
    summary: "Upload blobs",
    streams: "application/x-tar",
  },

  schemaPlan: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/schema/plan",
    permission: "database.update",
    summary: "Show what an update of the tables would do",
    body_bytes: TREE_BODY_BYTES,
  },
  /** NDJSON: `progress` lines, then one `done` or `error`. */
  schemaApply: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/schema/apply",
    permission: "database.update",
    summary: "Make the tables what the application file declares",
    answers: "application/x-ndjson",
    body_bytes: TREE_BODY_BYTES,
  },

  tableList: {
    method: "GET",
    path: "/v1/orgs/:org/databases/:db/tables",
    permission: "data.read",
    summary: "List tables",
  },
  tableShow: {
    method: "GET",
    path: "/v1/orgs/:org/databases/:db/tables/:table",
    permission: "data.read",
    summary: "Show a table",
  },
  rowList: {
    method: "GET",
    path: "/v1/orgs/:org/databases/:db/tables/:table/rows",
    permission: "data.read",
    summary: "Read rows",
  },
  /** Takes and answers what an insert route over the whole table does: a row, an array, NDJSON. */
  rowInsert: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/tables/:table/rows",
    permission: "data.write",
    summary: "Insert rows",
    streams: "application/json",
  },

  ...SERVICE_ROUTES,

  errorList: {
    method: "GET",
    path: "/v1/orgs/:org/databases/:db/errors",
    permission: "data.read",
    summary: "List computed cells that failed",
  },
  recomputePlan: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/recompute/plan",
    permission: "database.update",
    summary: "Show what computing columns again would do",
  },
  /** NDJSON: `progress` lines, then one `done` or `error`. */
  recompute: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/recompute",
    permission: "database.update",
    summary: "Compute columns again",
    answers: "application/x-ndjson",
  },
  jobList: {
    method: "GET",
    path: "/v1/orgs/:org/databases/:db/jobs",
    permission: "data.read",
    summary: "List long work on tables, and requests in the background",
  },
  jobCancel: {
    method: "POST",
    path: "/v1/orgs/:org/databases/:db/jobs/cancel",
    permission: "database.update",
    summary: "Cancel a job",
  },

  operationList: {
    method: "GET",
    path: "/v1/orgs/:org/operations",
    permission: "operation.read",
    summary: "List operations",
  },
  operationShow: {
    method: "GET",
    path: "/v1/orgs/:org/operations/:id",
    permission: "operation.read",
    by_grant: true,
    summary: "Show an operation; `?wait_ms=` answers when it has ended, or then",
  },
  operationCancel: {
    method: "POST",
    path: "/v1/orgs/:org/operations/:id/cancel",
    permission: "operation.read",
    summary: "Cancel an operation",
  },
  /** A page, or with `accept: text/event-stream` a stream that goes on; resumes by `last-event-id`. */
  eventList: { method: "GET", path: "/v1/orgs/:org/events", permission: "event.read", summary: "Read the audit log" },

  webhookList: { method: "GET", path: "/v1/orgs/:org/webhooks", permission: "webhook.read", summary: "List webhooks" },
  webhookCreate: {
    method: "POST",
    path: "/v1/orgs/:org/webhooks",
    permission: "webhook.write",
    summary: "Have events posted to an address",
  },
  webhookDelete: {
    method: "DELETE",
    path: "/v1/orgs/:org/webhooks/:id",
    permission: "webhook.write",
    summary: "Delete a webhook",
  },
  webhookResume: {
    method: "POST",
    path: "/v1/orgs/:org/webhooks/:id/resume",
    permission: "webhook.write",
    summary: "Resume a webhook that was paused",
  },
  deliveryList: {
    method: "GET",
    path: "/v1/orgs/:org/webhooks/:id/deliveries",
    permission: "webhook.read",
    summary: "List what was posted and what came back",
  },
  deliveryReplay: {
    method: "POST",
    path: "/v1/orgs/:org/webhooks/:id/deliveries/:delivery/replay",
    permission: "webhook.write",
    summary: "Post a delivery again",
  },
} as const satisfies Record<string, ControlRoute>;

/** What the table says of a route, also what only some of them say. */
export function controlRoute(name: ControlRouteName): ControlRoute {
  return CONTROL_ROUTES[name];
}

export type ControlRouteName = keyof typeof CONTROL_ROUTES;

/** Where better-auth's routes are mounted: `POST /v1/auth/sign-up/email`, `/v1/auth/device/code` and so on. */
export const AUTH_PATH = "/v1/auth";
/** The `client_id` of the command in the device flow; no other is accepted. */
export const DEVICE_CLIENT_ID = "cli";
