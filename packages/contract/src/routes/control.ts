import * as z from "zod";
import { PRINCIPAL_KINDS, ROLES } from "../permissions.ts";

/** Bodies of the control plane's API. Requests are strict; responses may gain fields. Times are ISO 8601 in UTC. */
const time = z.iso.datetime();
/**
 * The display name of a person or an organization. Terminals and mails show it. It contains no control characters,
 * which could overwrite other lines, and no characters that change the text direction.
 */
export const shownNameSchema = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .regex(/^[^\p{Cc}\u2028-\u202e\u2066-\u2069]*$/u, "has line breaks or control characters");
const name = shownNameSchema;
export const roleSchema = z.enum(ROLES);

/** `GET /v1/service`: what a client must know before sign-in. */
export const serverInfoSchema = z.object({
  version: z.string(),
  /** Who can create an account: the first person with the printed link, invited people, or anyone. */
  sign_up: z.enum(["first", "invitation", "open"]),
  /** Whether the server can send mail. Otherwise invitations and resets are links to pass on. */
  mail: z.boolean(),
  oidc: z.array(z.object({ id: z.string(), name: z.string() })),
  dashboard_url: z.string(),
});
export type ServerInfo = z.infer<typeof serverInfoSchema>;

export const whoamiSchema = z.object({
  kind: z.enum(PRINCIPAL_KINDS),
  /** The person, or the person that the key acts as; null for a key with its own grants. */
  email: z.string().nullable(),
  name: z.string().nullable(),
  user_id: z.string().nullable(),
  /** The session's organization, or the key's. */
  organization: z.object({ id: z.string(), name: z.string(), role: roleSchema.nullable() }).nullable(),
  /** Number of organizations of the person. */
  organizations: z.int(),
  key: z.object({ id: z.string(), name: z.string(), grants: z.array(z.string()) }).nullable(),
  /** When the session or the key expires. */
  expires_at: time.nullable(),
});
export type Whoami = z.infer<typeof whoamiSchema>;

export const setUpSchema = z.strictObject({
  token: z.string().max(200),
  email: z.email().max(254),
  name,
  password: z.string().min(10).max(200),
});

export const sessionSchema = z.object({
  id: z.string(),
  /** The session of this request. */
  current: z.boolean(),
  /** From a terminal or from a browser. */
  client: z.enum(["cli", "browser"]),
  ip_address: z.string().nullable(),
  user_agent: z.string().nullable(),
  created_at: time,
  last_used_at: time,
  expires_at: time,
});
export type SignedInSession = z.infer<typeof sessionSchema>;
export const sessionSwitchSchema = z.strictObject({ organization: z.string().max(100) });

export const deviceSchema = z.object({
  user_code: z.string(),
  client: z.string(),
  /** The client's address, as the server saw it. */
  ip_address: z.string().nullable(),
  user_agent: z.string().nullable(),
  created_at: time,
  expires_at: time,
});
export type Device = z.infer<typeof deviceSchema>;

export const orgSchema = z.object({
  id: z.string(),
  name: z.string(),
  /** For people; initially the name itself. */
  display_name: z.string(),
  role: roleSchema.nullable(),
  databases: z.int(),
  database_quota: z.int(),
  created_at: time,
  etag: z.string(),
});
export type Org = z.infer<typeof orgSchema>;
/** `parseName` checks the name and reports its problem. */
export const orgCreateSchema = z.strictObject({ name: z.string().max(300), display_name: name.optional() });
export const orgUpdateSchema = z.strictObject({ display_name: name });

export const memberSchema = z.object({
  id: z.string(),
  user_id: z.string(),
  email: z.string(),
  name: z.string(),
  role: roleSchema,
  /** Whether a password sign-in requires codes; null for callers without permission. Owners have it. */
  second_factor: z.boolean().nullable(),
  created_at: time,
});
export type Member = z.infer<typeof memberSchema>;
export const memberUpdateSchema = z.strictObject({ role: roleSchema });

export const invitationSchema = z.object({
  id: z.string(),
  email: z.string(),
  role: roleSchema,
  invited_by: z.string(),
  created_at: time,
  expires_at: time,
});
export type Invitation = z.infer<typeof invitationSchema>;
export const createdInvitationSchema = z.object({ ...invitationSchema.shape, url: z.string(), mailed: z.boolean() });
export type CreatedInvitation = z.infer<typeof createdInvitationSchema>;
export const invitationCreateSchema = z.strictObject({ email: z.email().max(254), role: roleSchema.default("member") });
/** What a link shows before sign-in. */
export const invitationShownSchema = z.object({
  organization: z.string(),
  email: z.string(),
  role: roleSchema,
  expires_at: time,
});
export type InvitationShown = z.infer<typeof invitationShownSchema>;

export const keySchema = z.object({
  id: z.string(),
  name: z.string(),
  /** Canonical texts; empty for a key that acts as its creator. */
  grants: z.array(z.string()),
  created_by: z.string().nullable(),
  created_at: time,
  last_used_at: time.nullable(),
  expires_at: time.nullable(),
  /** Until when the secret before the last rotation is accepted. */
  previous_until: time.nullable(),
});
export type Key = z.infer<typeof keySchema>;
/** The only responses with a secret. */
export const createdKeySchema = z.object({ ...keySchema.shape, api_key: z.string() });
export type CreatedKey = z.infer<typeof createdKeySchema>;
export const keyCreateSchema = z.strictObject({
  name: z.string().max(300),
  grants: z.array(z.string().max(300)).max(50).default([]),
  expires_in_s: z.int().min(60).max(315_360_000).nullable().default(null),
});
export const keyRotateSchema = z.strictObject({
  /** How long the previous secret stays valid. */
  overlap_s: z.int().min(0).max(2_592_000).default(0),
});

export const secretSchema = z.object({
  name: z.string(),
  scope: z.enum(["organization", "database"]),
  /** A secret of the database takes precedence over one of the organization. */
  overrides_organization: z.boolean(),
  set_by: z.string().nullable(),
  updated_at: time,
});
export type SecretEntry = z.infer<typeof secretSchema>;
export const changedSecretSchema = z.object({
  ...secretSchema.shape,
  /** Addresses of services that use the previous value until they are restarted: `cloud://acme:main/ingest`. */
  restart: z.array(z.string()),
});
export type ChangedSecret = z.infer<typeof changedSecretSchema>;
/** At most the size of an environment variable of a pod. */
export const secretSetSchema = z.strictObject({ value: z.string().min(1).max(65_536) });

export const OPERATION_STATES = ["pending", "running", "succeeded", "failed", "cancelled"] as const;
export const operationSchema = z.object({
  id: z.string(),
  /** `org.create`, `database.provision`, ...: an action of the audit log. */
  kind: z.string(),
  target: z.string(),
  state: z.enum(OPERATION_STATES),
  /** The person or the key. */
  actor: z.string(),
  detail: z.string().nullable(),
  error: z.object({ code: z.string(), detail: z.string(), hint: z.string().nullable() }).nullable(),
  created_at: time,
  started_at: time.nullable(),
  ended_at: time.nullable(),
});
export type Operation = z.infer<typeof operationSchema>;

export const eventSchema = z.object({
  /** Increasing; a stream resumes from it. */
  id: z.string(),
  at: time,
  /** `key.create`, `secret.set`, `operation.succeeded`, ... */
  action: z.string(),
  target: z.string(),
  /** `ann@example.com`, `key ci`, `system`. */
  actor: z.string(),
  ip_address: z.string().nullable(),
  client: z.string().nullable(),
  outcome: z.enum(["succeeded", "refused", "failed", "pending"]),
  operation_id: z.string().nullable(),
  detail: z.record(z.string(), z.unknown()),
});
export type AuditEvent = z.infer<typeof eventSchema>;

export const webhookSchema = z.object({
  id: z.string(),
  url: z.string(),
  /** Actions; empty for all of them. `key.*` means every action of keys. */
  actions: z.array(z.string()),
  created_at: time,
  /** Since when deliveries fail. */
  failing_since: time.nullable(),
  /** Since when it is paused, after many failures in a row; null while it is active. */
  paused_at: time.nullable(),
});
export type Webhook = z.infer<typeof webhookSchema>;
export const createdWebhookSchema = z.object({ ...webhookSchema.shape, signing_secret: z.string() });
export type CreatedWebhook = z.infer<typeof createdWebhookSchema>;
export const webhookCreateSchema = z.strictObject({
  url: z.url().max(2_000),
  actions: z.array(z.string().max(100)).max(50).default([]),
});
export const deliverySchema = z.object({
  id: z.string(),
  event_id: z.string(),
  state: z.enum(["pending", "delivered", "dead"]),
  attempts: z.int(),
  last_status: z.int().nullable(),
  last_error: z.string().nullable(),
  next_attempt_at: time.nullable(),
  created_at: time,
});
export type Delivery = z.infer<typeof deliverySchema>;

/** Query of every list. */
export const pageQuerySchema = z.strictObject({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  cursor: z.string().max(500).optional(),
});
export const operationListQuerySchema = z.strictObject({
  ...pageQuerySchema.shape,
  /** A database's name: only its operations. */
  database: z.string().max(63).optional(),
});
export interface ListPage<T> {
  readonly items: readonly T[];
  /** The cursor of the next page; null at the end. */
  readonly next: string | null;
}
