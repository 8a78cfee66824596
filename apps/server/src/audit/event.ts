import type { AuditEvent } from "@appdb/contract/routes/control";
import type { ControlDatabase, Tx } from "../database/pool.ts";
import type { Principal } from "./principal.ts";

/** One line of the audit log. */
export interface EventInput {
  /** `org.create`, `member.update`, ... */
  readonly action: string;
  readonly target: string;
  /** Whose log it stands in; null for what concerns no organization. */
  readonly org_id: string | null;
  /** `ann@example.com`, `key ci`, `system`: `actorOf` writes it. */
  readonly actor: string;
  /** Who did it; nobody for the system and for guests. */
  readonly principal: Principal | undefined;
  readonly ip_address: string | null;
  readonly client: string | null;
  readonly outcome: AuditEvent["outcome"];
  readonly operation_id?: string | null;
  /** Never a secret. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** Writes an event, in the transaction of the change that it tells of. */
export type RecordEvent = (tx: ControlDatabase | Tx, event: EventInput) => Promise<void>;

/** How the log names who acts. */
export function actorOf(principal: Principal | undefined): string {
  if (principal === undefined) return "guest";
  return principal.key === null ? (principal.email ?? "system") : `key ${principal.key.name}`;
}

/** What every event of a change that was made to an organization says: who did it, from where, and that it is done. */
export function doneBy(by: {
  readonly org: { readonly id: string };
  readonly principal: Principal;
  readonly client: Pick<EventInput, "ip_address" | "client">;
}): Pick<EventInput, "org_id" | "actor" | "principal" | "ip_address" | "client" | "outcome"> {
  const { org, principal, client } = by;
  return { org_id: org.id, actor: actorOf(principal), principal, ...client, outcome: "succeeded" };
}

/** How the audit log names who acts on the server's machine, and the program. */
export const OPERATOR = "operator";
export const OPERATOR_CLIENT = "cli server";

/** What the audit log says of an act that concerns no organization. */
export const BY_OPERATOR = {
  org_id: null,
  actor: OPERATOR,
  principal: undefined,
  ip_address: null,
  client: OPERATOR_CLIENT,
  outcome: "succeeded",
} as const satisfies Partial<EventInput>;
