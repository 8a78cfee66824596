import type { AuditEvent } from "@appdb/contract/routes/control";
import type { ControlDatabase, Tx } from "../database/pool.ts";
import type { Principal } from "./principal.ts";

/** One line of the audit log. */
export interface EventInput {
  /** `org.create`, `member.update`, ... */
  readonly action: string;
  readonly target: string;
  /** Null for an event that concerns no organization. */
  readonly org_id: string | null;
  /** `ann@example.com`, `key ci` or `system`, as returned by `actorOf`. */
  readonly actor: string;
  /** Who did it. Undefined for the system and for guests. */
  readonly principal: Principal | undefined;
  readonly ip_address: string | null;
  readonly client: string | null;
  readonly outcome: AuditEvent["outcome"];
  readonly operation_id?: string | null;
  /** Must not contain secrets. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** Writes an event in the transaction of the change that it describes. */
export type RecordEvent = (tx: ControlDatabase | Tx, event: EventInput) => Promise<void>;

/** The name of the actor in the audit log. */
export function actorOf(principal: Principal | undefined): string {
  if (principal === undefined) return "guest";
  return principal.key === null ? (principal.email ?? "system") : `key ${principal.key.name}`;
}

/** The common fields of an event about a completed change to an organization: actor, origin and outcome. */
export function doneBy(by: {
  readonly org: { readonly id: string };
  readonly principal: Principal;
  readonly client: Pick<EventInput, "ip_address" | "client">;
}): Pick<EventInput, "org_id" | "actor" | "principal" | "ip_address" | "client" | "outcome"> {
  const { org, principal, client } = by;
  return { org_id: org.id, actor: actorOf(principal), principal, ...client, outcome: "succeeded" };
}

/** The common fields of an event or operation that no one requested. */
export const BY_SYSTEM = {
  actor: "system",
  principal: undefined,
  ip_address: null,
  client: null,
} as const satisfies Partial<EventInput>;

/** The audit log's name for someone who acts on the server's machine. Also the name of the program. */
export const OPERATOR = "operator";
export const OPERATOR_CLIENT = "cli server";

/** The common fields of an operator's event that concerns no organization. */
export const BY_OPERATOR = {
  org_id: null,
  actor: OPERATOR,
  principal: undefined,
  ip_address: null,
  client: OPERATOR_CLIENT,
  outcome: "succeeded",
} as const satisfies Partial<EventInput>;
