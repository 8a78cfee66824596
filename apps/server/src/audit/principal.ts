import type { PrincipalKind, Role } from "@appdb/contract/permissions";

/** Whoever acts. Everything outside of identity knows people, keys and pods by this alone. */
export interface Principal {
  readonly kind: PrincipalKind;
  /** The person, or whom the key acts as; null for a key of its own grants. */
  readonly user_id: string | null;
  readonly email: string | null;
  readonly name: string | null;
  readonly session_id: string | null;
  readonly key: { readonly id: string; readonly name: string; readonly grants: readonly string[] } | null;
  /** The session's organization, or the key's. */
  readonly organization: PrincipalOrg | null;
  readonly expires_at: Date | null;
  /** What was shown. Only a cookie is sent by browsers of their own accord. */
  readonly shown: "api_key" | "bearer" | "cookie";
}

export interface PrincipalOrg {
  readonly id: string;
  readonly name: string;
  readonly role: Role | null;
  /** Why its requests are refused, in the operator's words or empty; absent or null while they are not. */
  readonly suspension?: string | null;
}

/** Where a request came from, for the audit log. */
export interface CallClient {
  readonly ip_address: string;
  /** The User-Agent, shortened. */
  readonly client: string | null;
}
