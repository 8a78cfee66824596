import { appError } from "@appdb/contract/errors";
import { type Permission, type Role, roleHas } from "@appdb/contract/permissions";
import type { Member } from "@appdb/contract/routes/control";
import { doneBy, type RecordEvent } from "../../audit/event.ts";
import type { CallClient, Principal } from "../../audit/principal.ts";
import type { Tx } from "../../database/pool.ts";
import { type CallOrg, demand, recheckCaller } from "../../requests/checked-route.ts";
import { findMember, lockMembers, requireAnotherOwner } from "./members-store.ts";

/** Maximum names of remaining keys in an event. */
const MAX_NAMED = 50;

export interface MembersDeps {
  readonly tx: Tx;
  readonly recordEvent: RecordEvent;
}

export interface MemberChange {
  readonly principal: Principal;
  readonly org: CallOrg;
  readonly client: CallClient;
  /** The member's id. */
  readonly id: string;
}

/** Changes a member's role. Only owners add and remove owners. @throws member_not_found, forbidden, last_owner */
export async function updateMember(deps: MembersDeps, change: MemberChange, role: Role): Promise<Member> {
  const { id } = change;
  const org = await lockAsCaller(deps.tx, change, "member.change");
  const member = await findMember(deps.tx, org.id, id);
  if (member.role === "owner" || role === "owner") requireOwner(org);
  if (role !== "owner") await requireAnotherOwner(deps.tx, org, member);
  await deps.tx.updateTable("control.members").set({ role }).where("id", "=", id).execute();
  const invitationsWithdrawn = await withdrawInvitations(deps.tx, org.id, member.user_id, role);
  await record(deps, change, "member.update", member, {
    role,
    before: member.role,
    invitations_withdrawn: invitationsWithdrawn,
  });
  return { ...member, role };
}

/** Removes a member, or oneself. @throws member_not_found, forbidden, last_owner */
export async function removeMember(deps: MembersDeps, change: MemberChange): Promise<void> {
  const { principal, id } = change;
  const org = await lockAsCaller(deps.tx, change, "member.read");
  const member = await findMember(deps.tx, org.id, id);
  const isSelf = member.user_id === principal.user_id;
  if (!isSelf) {
    demand(org, "member.change");
    if (member.role === "owner") requireOwner(org);
  }
  await requireAnotherOwner(deps.tx, org, member);
  // keys that act as the person are deleted with the membership
  const keys = await deps.tx
    .selectFrom("control.api_keys")
    .select(["id", "name"])
    .where("org_id", "=", org.id)
    .where("acts_as", "=", member.user_id)
    .orderBy("name")
    .execute();
  // keys with grants stay, and the event names them: the remover may not know of them
  const removed = await deps.tx
    .selectFrom("control.api_keys")
    .select("name")
    .where("org_id", "=", org.id)
    .where("created_by", "=", member.user_id)
    .where("acts_as", "is", null)
    .orderBy("name")
    .limit(MAX_NAMED)
    .execute();
  const keysLeft = removed.map(({ name }) => name);
  await deps.tx.deleteFrom("control.members").where("id", "=", id).execute();
  const invitationsWithdrawn = await withdrawInvitations(deps.tx, org.id, member.user_id, undefined);
  await record(deps, change, "member.remove", member, {
    role: member.role,
    left: isSelf,
    invitations_withdrawn: invitationsWithdrawn,
    ...(keysLeft.length === 0 ? {} : { keys_left: keysLeft }),
  });
  for (const { id: keyId, name } of keys) {
    await deps.recordEvent(deps.tx, {
      action: "key.delete",
      target: name,
      ...doneBy({ ...change, org }),
      detail: { key_id: keyId, member: member.email },
    });
  }
}

/**
 * Withdraws invitations that the person may no longer create. Otherwise a removed person could return by an invitation
 * for another of their addresses.
 */
async function withdrawInvitations(tx: Tx, orgId: string, userId: string, role: Role | undefined): Promise<number> {
  if (role === "owner") return 0;
  const mayInvite = role !== undefined && roleHas(role, "member.invite");
  let query = tx.deleteFrom("control.invitations").where("org_id", "=", orgId).where("invited_by", "=", userId);
  if (mayInvite) query = query.where("role", "=", "owner");
  return Number((await query.executeTakeFirst()).numDeletedRows);
}

/** Checks the caller's permission under the lock: an earlier change may have removed it. */
async function lockAsCaller(tx: Tx, { principal, org }: MemberChange, permission: Permission): Promise<CallOrg> {
  await lockMembers(tx, org.id);
  return await recheckCaller(tx, { principal, org, permission });
}

/** @throws forbidden if the caller is not an owner */
export function requireOwner(org: CallOrg): void {
  if (org.role === "owner") return;
  throw appError("forbidden", {
    detail: `Only owners of ${org.name} can add, change or remove owners. Your role is ${org.role}.`,
    hint: "Ask an owner to do it.",
    meta: { role: org.role },
  });
}

async function record(
  { tx, recordEvent }: MembersDeps,
  { principal, org, client }: MemberChange,
  action: string,
  member: Member,
  detail: Record<string, unknown>,
): Promise<void> {
  const target = member.email;
  await recordEvent(tx, {
    action,
    target,
    ...doneBy({ org, principal, client }),
    detail,
  });
}
