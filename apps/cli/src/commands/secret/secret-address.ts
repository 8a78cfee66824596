import { HOSTED_SCHEME, isHosted, parseDatabaseUri, parseName } from "@appdb/contract/names";

/** Owner of secrets: a database, or an organization, whose secrets all its databases get. */
export interface SecretAddress {
  readonly org: string;
  /** Undefined for the organization. */
  readonly db: string | undefined;
  /** `cloud://acme:main`, `cloud://acme`. */
  readonly text: string;
}

export const PLACE = {
  brief: "A database (cloud://acme:main), or an organization (cloud://acme, acme)",
  placeholder: "URI|ORG",
} as const;

/** Parses `cloud://acme:main`, `cloud://acme` or `acme`. @throws invalid_target, invalid_name */
export function parseSecretAddress(typed: string): SecretAddress {
  const rest = isHosted(typed) ? typed.slice(HOSTED_SCHEME.length) : typed;
  if (isHosted(typed) && /[:/]/.test(rest)) {
    const uri = parseDatabaseUri(typed);
    return { org: uri.organization, db: uri.database, text: uri.text };
  }
  const org = parseName("organization", rest);
  return { org, db: undefined, text: HOSTED_SCHEME + org };
}
