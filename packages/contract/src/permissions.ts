/**
 * Who may do what in an organization. The checks of the control plane and the table of docs/permissions.md are made from
 * `PERMISSIONS`; every route of `CONTROL_ROUTES` names one of them, or `public`, or `signed_in`.
 */
export const ROLES = ["owner", "admin", "member"] as const;
export type Role = (typeof ROLES)[number];

/** Whoever acts: a person by a session, a key of a person, a key of its own grants, a pod. */
export const PRINCIPAL_KINDS = ["user", "key", "grant_key", "pod"] as const;
export type PrincipalKind = (typeof PRINCIPAL_KINDS)[number];

interface PermissionRow {
  /** Ends the sentence "may ...". */
  readonly what: string;
  readonly roles: readonly Role[];
}

const EVERYBODY = ROLES;
const ADMINS = ["owner", "admin"] as const;

export const PERMISSIONS = {
  "org.read": { what: "see the organization and its databases", roles: EVERYBODY },
  "org.update": { what: "rename how the organization is shown", roles: ADMINS },
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
  "data.read": { what: "see tables and rows of databases, and their logs", roles: EVERYBODY },
  "data.write": { what: "insert rows into databases", roles: EVERYBODY },
  "operation.read": { what: "see operations", roles: EVERYBODY },
  "operation.cancel": { what: "cancel operations of others", roles: ADMINS },
  "event.read": { what: "read the audit log", roles: EVERYBODY },
  "webhook.read": { what: "see webhooks and their deliveries", roles: ADMINS },
  "webhook.write": { what: "create, change and delete webhooks", roles: ADMINS },
} as const satisfies Record<string, PermissionRow>;

export type Permission = keyof typeof PERMISSIONS;

/** What a route asks of its caller. `signed_in`: a person or a key that acts as one, in whatever organization. */
export type RoutePermission = Permission | "public" | "signed_in";

/** Whether a member of this role has the permission. Own keys may be deleted and own operations cancelled by anyone; that
 *  is decided where the owner is known. */
export function roleHas(role: Role, permission: Permission): boolean {
  return (PERMISSIONS[permission].roles as readonly Role[]).includes(role);
}
