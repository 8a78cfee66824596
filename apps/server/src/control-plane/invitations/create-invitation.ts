import { appError } from "@appdb/contract/errors";
import type { CreatedInvitation, invitationCreateSchema } from "@appdb/contract/routes/control";
import { sql } from "kysely";
import type * as z from "zod";
import { doneBy, type RecordEvent } from "../../audit/event.ts";
import type { CallClient, Principal } from "../../audit/principal.ts";
import type { Tx } from "../../database/pool.ts";
import type { MailMessage } from "../../identity/mail.ts";
import type { Site } from "../../identity/tokens/csrf.ts";
import { hashToken, makeToken } from "../../identity/tokens/tokens.ts";
import type { CallOrg } from "../../requests/checked-route.ts";
import { requireOwner } from "../members/change-members.ts";
import { toInvitation } from "./invitations-store.ts";

/** Lifetime of an invitation. */
const OPEN_DAYS = 7;

export interface CreateInvitationDeps {
  readonly tx: Tx;
  readonly recordEvent: RecordEvent;
  readonly site: Site;
  /** Sends a mail after the commit. Undefined if the server has no mail. */
  readonly mailLater: ((message: MailMessage) => void) | undefined;
}

export interface InvitationCall {
  readonly principal: Principal;
  readonly org: CallOrg;
  readonly client: CallClient;
}

/**
 * Creates an invitation, whose link is in the answer once and is mailed if possible. It replaces an earlier one for the
 * address.
 * @throws forbidden if someone other than an owner invites an owner, member_exists
 */
export async function createInvitation(
  deps: CreateInvitationDeps,
  { principal, org, client }: InvitationCall,
  input: z.output<typeof invitationCreateSchema>,
): Promise<CreatedInvitation> {
  const { tx, site } = deps;
  if (input.role === "owner") requireOwner(org);
  const email = input.email.toLowerCase();
  await refuseMember(tx, org, email);
  const token = makeToken();
  const values = {
    role: input.role,
    token_hash: hashToken(token),
    invited_by: principal.user_id,
    created_at: sql<Date>`now()`,
    expires_at: sql<Date>`now() + make_interval(days => ${OPEN_DAYS})`,
  };
  const created = await tx
    .insertInto("control.invitations")
    .values({ org_id: org.id, email, ...values })
    .onConflict((conflict) => conflict.columns(["org_id", "email"]).doUpdateSet(values))
    .returning(["id", "email", "role", "created_at", "expires_at"])
    .executeTakeFirstOrThrow();
  const url = `${site.url}/sign-up?invitation=${token}`;
  await deps.recordEvent(tx, {
    action: "invitation.create",
    target: email,
    ...doneBy({ org, principal, client }),
    detail: { role: input.role },
  });
  deps.mailLater?.({
    to: email,
    subject: `An invitation to ${org.name}`,
    text: `${principal.email ?? "Someone"} invites you to the organization ${org.name} at ${site.url}.\n\nJoin it here, within ${OPEN_DAYS} days:\n${url}\n`,
  });
  return { ...toInvitation({ ...created, invited_by: principal.email }), url, mailed: deps.mailLater !== undefined };
}

async function refuseMember(tx: Tx, org: CallOrg, email: string): Promise<void> {
  const member = await tx
    .selectFrom("control.members as m")
    .innerJoin("identity.users as u", "u.id", "m.user_id")
    .select("m.id")
    .where("m.org_id", "=", org.id)
    .where("u.email", "=", email)
    .executeTakeFirst();
  if (member === undefined) return;
  throw appError("member_exists", {
    detail: `${email} is a member of ${org.name}.`,
    hint: "Change the member's role instead.",
    meta: { member: member.id },
  });
}
