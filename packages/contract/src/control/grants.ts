import { appError } from "../errors.ts";
import { HOSTED_SCHEME, parseDatabaseUri, parseName } from "../names.ts";

/**
 * What a key may do that does not act as its creator: `access|manage:cloud://org:db[/services[/name]]`.
 *
 * | grant | allows |
 * |---|---|
 * | `access:cloud://acme:main` | calling every service of the database, and its media store |
 * | `access:cloud://acme:main/services` | calling every service |
 * | `access:cloud://acme:main/services/ingest` | calling that service |
 * | `manage:cloud://acme:main/services[/ingest]` | creating, moving, stopping and deleting services, or that one |
 *
 * Neither verb includes the other.
 */
export interface Grant {
  readonly verb: GrantVerb;
  readonly organization: string;
  readonly database: string;
  readonly scope: "database" | "services" | "service";
  /** With its folders (`reports/ingest`); set when the scope is `service`. */
  readonly service: string | null;
  /** Canonical form. */
  readonly text: string;
}

const GRANT_VERBS = ["access", "manage"] as const;
export type GrantVerb = (typeof GRANT_VERBS)[number];

/** By the number of parts after the database; more parts name a service. */
const SCOPES = ["database", "services"] as const;

const EXAMPLE = "access:cloud://acme:main/services/ingest";

/** Parses one grant. @throws invalid_grant with the reason */
export function parseGrant(text: string): Grant {
  const [verb, address] = splitVerb(text);
  const slash = address.indexOf("/", HOSTED_SCHEME.length);
  const uri = parseUri(text, slash < 0 ? address : address.slice(0, slash));
  const rest = slash < 0 ? [] : address.slice(slash + 1).split("/");
  const scope = SCOPES[rest.length] ?? "service";
  if (rest.length > 0 && rest[0] !== "services") {
    throw invalid(text, `Expected /services or nothing after the database, got /${rest.join("/")}.`);
  }
  if (verb === "manage" && scope === "database") {
    throw invalid(text, "manage applies to services, not to a whole database.", `manage:${uri.text}/services`);
  }
  const parts = rest.slice(1).map((part) => parsePart(text, part));
  return {
    verb,
    organization: uri.organization,
    database: uri.database,
    scope,
    service: scope === "service" ? parts.join("/") : null,
    text: [`${verb}:${uri.text}`, ...rest.slice(0, 1), ...parts].join("/"),
  };
}

/** An action on a service; no service name means the whole database. */
export interface GrantNeed {
  readonly verb: GrantVerb;
  readonly organization: string;
  readonly database: string;
  readonly service: string | null;
}

/** Whether one of the grants covers the need. */
export function grantsAllow(grants: readonly Grant[], need: GrantNeed): boolean {
  return grants.some(
    (grant) =>
      grant.verb === need.verb &&
      grant.organization === need.organization &&
      grant.database === need.database &&
      (grant.service === null ? grant.scope === "database" || need.service !== null : grant.service === need.service),
  );
}

function splitVerb(text: string): [GrantVerb, string] {
  const colon = text.indexOf(":");
  const verb = GRANT_VERBS.find((known) => known === text.slice(0, colon));
  if (verb === undefined) throw invalid(text, "It must begin with access: or manage:.");
  return [verb, text.slice(colon + 1)];
}

function parseUri(text: string, address: string) {
  if (!address.startsWith(HOSTED_SCHEME)) throw invalid(text, `Expected ${HOSTED_SCHEME}<org>:<db> after the verb.`);
  try {
    return parseDatabaseUri(address);
  } catch (cause) {
    throw invalid(text, cause instanceof Error ? cause.message : "The address is not valid.", undefined, cause);
  }
}

function parsePart(text: string, part: string): string {
  try {
    return parseName("service", part);
  } catch (cause) {
    throw invalid(text, cause instanceof Error ? cause.message : "The service's name is not valid.", undefined, cause);
  }
}

function invalid(text: string, what: string, instead = EXAMPLE, cause?: unknown): Error {
  return appError("invalid_grant", {
    detail: `The grant ${JSON.stringify(text)} is not valid. ${what}`,
    hint: `Write: --grant ${instead}`,
    meta: { grant: text },
    cause,
  });
}
