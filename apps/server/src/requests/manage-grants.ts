import { type Grant, parseGrant } from "@appdb/contract/control/grants";
import { appError } from "@appdb/contract/errors";
import type { Principal } from "../audit/principal.ts";

/** The services that a caller may manage: all for a person, otherwise those of the key's grants. */
export function manageGrants({ key, user_id: userId }: Principal): readonly Grant[] | "all" {
  if (userId !== null) return "all";
  return (key?.grants ?? []).map((text) => parseGrant(text)).filter(({ verb }) => verb === "manage");
}

/** Whether a key has grants of this kind. Other keys with grants cannot use the control plane. */
export function hasManageGrant(principal: Principal): boolean {
  return mayManageSome(principal, undefined, undefined);
}

/** Whether a caller may manage the service, or without it any service of the database, or any at all. */
export function mayManageSome(
  principal: Principal,
  database: string | undefined,
  service: string | undefined,
): boolean {
  const grants = manageGrants(principal);
  return grants === "all" || grants.some((grant) => covers(grant, database, service));
}

/** Whether a key's grants cover the database itself and not only services: `access:cloud://acme:main`. */
export function mayAccessDatabase({ key }: Principal, database: string | undefined): boolean {
  return (key?.grants ?? []).some((text) => {
    const grant = parseGrant(text);
    return grant.verb === "access" && grant.scope === "database" && grant.database === database;
  });
}

/** @throws forbidden if the caller may not manage one of the services, by their names within the database */
export function requireManageGrant(principal: Principal, database: string, services: readonly string[]): void {
  if (!services.every((service) => mayManageSome(principal, database, service))) throw notGranted(principal);
}

export function notGranted({ key }: Principal): Error {
  return appError("forbidden", {
    detail: `The key ${key?.name ?? ""} can do only what its grants allow: ${key?.grants.join(", ")}.`,
    hint: "Use a session, or a key without grants: cli key create NAME",
  });
}

function covers(grant: Grant, database: string | undefined, service: string | undefined): boolean {
  if (database !== undefined && grant.database !== database) return false;
  return service === undefined || grant.service === null || grant.service === service;
}
