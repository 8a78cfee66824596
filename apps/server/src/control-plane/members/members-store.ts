import { appError } from "@appdb/contract/errors";
import type { Member } from "@appdb/contract/routes/control";
import { type PageQuery, readPageCursor, toPage } from "../../database/pages.ts";
import type { ControlDatabase, Tx } from "../../database/pool.ts";
import { isUuid } from "../../database/uuid.ts";
import type { CallOrg } from "../../requests/checked-route.ts";

/** The members of an organization, by address. */
export async function listMembers(
  db: ControlDatabase,
  org: CallOrg,
  page: PageQuery,
): Promise<{ items: Member[]; next: string | null }> {
  const from = readPageCursor(page.cursor);
  let query = selectMembers(db, org.id)
    .orderBy("u.email")
    .limit(page.limit + 1);
  if (from !== undefined) query = query.where("u.email", ">", from.after);
  const rows = await query.execute();
  return toPage(
    rows,
    page.limit,
    (row) => toMember(row, org.role === "owner"),
    (row) => ({ after: row.email, id: row.id }),
  );
}

/** A member of this organization. @throws member_not_found */
export async function findMember(db: ControlDatabase | Tx, orgId: string, id: string): Promise<Member> {
  const row = isUuid(id) ? await selectMembers(db, orgId).where("m.id", "=", id).executeTakeFirst() : undefined;
  if (row !== undefined) return toMember(row, false);
  throw appError("member_not_found", {
    detail: `The organization has no member ${JSON.stringify(id.slice(0, 60))}.`,
    hint: "List the organization's members to see their ids.",
  });
}

/** Serializes changes of members, so that the last owner is known. */
export async function lockMembers(tx: Tx, orgId: string): Promise<void> {
  await tx.selectFrom("control.organizations").select("id").where("id", "=", orgId).forUpdate().execute();
}

/** @throws last_owner if this member is the organization's only owner */
export async function requireAnotherOwner(
  tx: Tx,
  org: { readonly id: string; readonly name: string },
  member: Member,
): Promise<void> {
  if (member.role !== "owner") return;
  const other = await tx
    .selectFrom("control.members")
    .select("id")
    .where("org_id", "=", org.id)
    .where("role", "=", "owner")
    .where("id", "!=", member.id)
    .limit(1)
    .executeTakeFirst();
  if (other !== undefined) return;
  throw appError("last_owner", {
    detail: `${member.email} is the only owner of ${org.name}.`,
    hint: "Make another member an owner first.",
  });
}

function selectMembers(db: ControlDatabase | Tx, orgId: string) {
  return db
    .selectFrom("control.members as m")
    .innerJoin("identity.users as u", "u.id", "m.user_id")
    .leftJoin("identity.second_factors as f", "f.user_id", "m.user_id")
    .select(["m.id", "m.user_id", "u.email", "u.name", "m.role", "m.created_at", "f.enabled_at"])
    .where("m.org_id", "=", orgId);
}

interface MemberRow extends Omit<Member, "created_at" | "second_factor"> {
  readonly created_at: Date;
  readonly enabled_at: Date | null;
}

function toMember({ enabled_at: enabledAt, created_at: createdAt, ...row }: MemberRow, showsFactor: boolean): Member {
  return { ...row, second_factor: showsFactor ? enabledAt !== null : null, created_at: createdAt.toISOString() };
}
