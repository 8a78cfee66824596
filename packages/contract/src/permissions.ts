/**
 * Permissions in an organization. The control plane's checks and the table of docs/permissions.md use `PERMISSIONS`.
 * Every route of `CONTROL_ROUTES` names one of them, or `public`, or `signed_in`.
 */
export const ROLES = ["owner", "admin", "member"] as const;
export type Role = (typeof ROLES)[number];

/** The caller: a person with a session, a key of a person, a key with its own grants, or a pod. */
export const PRINCIPAL_KINDS = ["user", "key", "grant_key", "pod"] as const;
export type PrincipalKind = (typeof PRINCIPAL_KINDS)[number];

interface PermissionRow {
  /** Completes the sentence "may ...". */
  readonly what: string;
  readonly roles: readonly Role[];
}

const EVERYBODY = ROLES;
const ADMINS = ["owner", "admin"] as const;

export const PERMISSIONS = {
  "org.read": { what: "see the organization and its databases", roles: EVERYBODY },
  "org.update": { what: "change the display name of the organization", roles: ADMINS },
  "member.read": { what: "see who the members are", roles: EVERYBODY },
  "member.invite": { what: "invite members and withdraw invitations", roles: ADMINS },
  "member.change": { what: "change roles of members and remove them", roles: ADMINS },
  "key.read": { what: "see names, grants and last use of API keys", roles: EVERYBODY },
  "key.create": { what: "create API keys", roles: EVERYBODY },
  "key.delete": { what: "delete the API keys of others, and rotate those with grants", roles: ADMINS },
  "secret.read": { what: "see names of secrets, never their values", roles: EVERYBODY },
  "secret.write": { what: "set and delete secrets", roles: ADMINS },
  "database.update": {
    what: "create, update, start, stop and restart databases, and change their tables; their code reads their secrets",
    roles: EVERYBODY,
  },
  "database.delete": { what: "delete databases and take that back", roles: ADMINS },
  "service.update": {
    what: "update, start, stop, restart and roll back services; their code reads the database's secrets",
    roles: EVERYBODY,
  },
  "data.read": { what: "see tables, rows and media files of databases, and their logs", roles: EVERYBODY },
  "data.write": { what: "insert rows into databases; put and remove files of their media stores", roles: EVERYBODY },
  "operation.read": { what: "see operations", roles: EVERYBODY },
  "operation.cancel": { what: "cancel operations of others", roles: ADMINS },
  "event.read": { what: "read the audit log", roles: EVERYBODY },
  "webhook.read": { what: "see webhooks and their deliveries", roles: ADMINS },
  "webhook.write": { what: "create, change and delete webhooks", roles: ADMINS },
} as const satisfies Record<string, PermissionRow>;

export type Permission = keyof typeof PERMISSIONS;

/** The permission that a route requires. `signed_in`: a person, or a key that acts as one, in any organization. */
export type RoutePermission = Permission | "public" | "signed_in";

/** Whether a member of this role has the permission. Anyone may delete their own keys and cancel their own
 *  operations; code that knows the owner decides that. */
export function roleHas(role: Role, permission: Permission): boolean {
  return (PERMISSIONS[permission].roles as readonly Role[]).includes(role);
}
