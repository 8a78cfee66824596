import { appError } from "@appdb/contract/errors";
import type { Org } from "@appdb/contract/routes/control";
import type { RecordEvent } from "../../audit/event.ts";
import type { CallClient } from "../../audit/principal.ts";
import type { Tx } from "../../database/pool.ts";
import type { Person } from "../../identity/person.ts";
import { switchOrg } from "../../identity/tokens/session-orgs.ts";
import { readOrganization } from "../organizations/organizations-store.ts";
import { findByToken, notOpen } from "./invitations-store.ts";

export interface AcceptInvitationDeps {
  readonly tx: Tx;
  readonly recordEvent: RecordEvent;
}

/**
 * Joins an organization by an invitation link and switches the session to it.
 * @throws invitation_not_found; forbidden if the invitation is for another address
 */
export async function acceptInvitation(
  { tx, recordEvent }: AcceptInvitationDeps,
  person: Person,
  token: string,
  client: CallClient,
): Promise<Org> {
  const invitation = await findByToken(tx, token);
  if (invitation.email !== person.email.toLowerCase()) {
    throw appError("forbidden", {
      detail: `The invitation is for another address than yours, ${person.email}.`,
      hint: "Sign in with the invited address, or ask for an invitation of your own.",
    });
  }
  // the delete lets only one of two concurrent requests continue
  const used = await tx
    .deleteFrom("control.invitations")
    .where("id", "=", invitation.id)
    .returning("id")
    .executeTakeFirst();
  if (used === undefined) throw notOpen();
  const { org_id: orgId, organization: name } = invitation;
  await tx
    .insertInto("control.members")
    .values({ org_id: orgId, user_id: person.user_id, role: invitation.role })
    .onConflict((conflict) => conflict.columns(["org_id", "user_id"]).doNothing())
    .execute();
  const { role } = await tx
    .selectFrom("control.members")
    .select("role")
    .where("org_id", "=", orgId)
    .where("user_id", "=", person.user_id)
    .executeTakeFirstOrThrow();
  await switchOrg(tx, person.session_id, orgId);
  await recordEvent(tx, {
    action: "invitation.accept",
    target: person.email,
    org_id: orgId,
    actor: person.email,
    principal: person,
    ...client,
    outcome: "succeeded",
    detail: { role },
  });
  return await readOrganization(tx, { id: orgId, name, role });
}
