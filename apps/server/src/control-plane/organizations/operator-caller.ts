import { appError } from "@appdb/contract/errors";
import { OPERATOR, OPERATOR_CLIENT, type RecordEvent } from "../../audit/event.ts";
import type { Principal } from "../../audit/principal.ts";
import type { Tx } from "../../database/pool.ts";
import type { Caller } from "../keys/create-key.ts";

export interface OperatorTx {
  readonly tx: Tx;
  readonly recordEvent: RecordEvent;
}

/** Someone who can read the home. Has no account and no role in an organization. */
const principal: Principal = {
  kind: "user",
  user_id: null,
  email: OPERATOR,
  name: null,
  session_id: null,
  key: null,
  organization: null,
  expires_at: null,
  credential: "bearer",
};

/** The operator as the caller of a change to an organization. */
export function operatorOf(org: { readonly id: string; readonly name: string }): Caller {
  return { principal, org: { ...org, role: "owner" }, client: { ip_address: null, client: OPERATOR_CLIENT } };
}

/** Finds an organization by name and locks it until the transaction ends. @throws organization_not_found */
export async function lockOrganization(tx: Tx, name: string) {
  const found = await tx
    .selectFrom("control.organizations")
    .select(["id", "name", "database_quota", "suspended_at"])
    .where("name", "=", name)
    .forUpdate()
    .executeTakeFirst();
  if (found !== undefined) return found;
  throw appError("organization_not_found", {
    detail: `The server has no organization ${JSON.stringify(name.slice(0, 60))}.`,
    hint: "List the organizations: cli server orgs",
  });
}
