import { parseGrant } from "@appdb/contract/control/grants";
import { AppError } from "@appdb/contract/errors";

/** A grant in the form. */
export interface GrantDraft {
  /** Identifies a row of the form. */
  readonly id: number;
  readonly kind: GrantKind;
  readonly database: string;
  /** For kinds that name one service. */
  readonly service: string;
}

export const GRANT_KINDS = [
  { kind: "access-database", title: "call all services, read and write media" },
  { kind: "access-services", title: "call all services" },
  { kind: "access-service", title: "call one service" },
  { kind: "manage-services", title: "manage all services" },
  { kind: "manage-service", title: "manage one service" },
] as const;
export type GrantKind = (typeof GRANT_KINDS)[number]["kind"];

export function asksService(kind: GrantKind): boolean {
  return kind === "access-service" || kind === "manage-service";
}

/** The grant's text as in the CLI: `access:cloud://acme:main/services/ingest`. */
export function grantText(organization: string, { kind, database, service }: GrantDraft): string {
  const verb = kind.startsWith("access") ? "access" : "manage";
  const uri = `${verb}:cloud://${organization}:${database}`;
  if (kind === "access-database") return uri;
  return asksService(kind) ? `${uri}/services/${service}` : `${uri}/services`;
}

/** What is wrong with it. Undefined for a valid grant, and while the service is empty. */
export function grantProblem(organization: string, draft: GrantDraft): string | undefined {
  if (!isComplete(draft)) return undefined;
  try {
    parseGrant(grantText(organization, draft));
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
}

export function isComplete(draft: GrantDraft): boolean {
  return !asksService(draft.kind) || draft.service !== "";
}
