import type { PrincipalKind, Role } from "@appdb/contract/permissions";

/** The authenticated caller. Code outside `identity` sees people, keys and pods only in this form. */
export interface Principal {
  readonly kind: PrincipalKind;
  /** The person, or the person that the key acts as. Null for a key with its own grants. */
  readonly user_id: string | null;
  readonly email: string | null;
  readonly name: string | null;
  readonly session_id: string | null;
  readonly key: { readonly id: string; readonly name: string; readonly grants: readonly string[] } | null;
  /** The session's organization, or the key's. */
  readonly organization: PrincipalOrg | null;
  readonly expires_at: Date | null;
  /** The kind of credential. Browsers send only cookies automatically. */
  readonly credential: "api_key" | "bearer" | "cookie";
}

export interface PrincipalOrg {
  readonly id: string;
  readonly name: string;
  readonly role: Role | null;
  /** Why the organization is suspended, in the operator's words or empty. Absent or null if it is not. */
  readonly suspension?: string | null;
}

/** The origin of a request, for the audit log. */
export interface CallClient {
  readonly ip_address: string;
  /** The User-Agent header, shortened. */
  readonly client: string | null;
}
