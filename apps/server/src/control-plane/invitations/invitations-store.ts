import { appError } from "@appdb/contract/errors";
import type { Invitation } from "@appdb/contract/routes/control";
import { sql } from "kysely";
import { type PageQuery, readPageCursor, toPage } from "../../database/pages.ts";
import type { ControlDatabase, Tx } from "../../database/pool.ts";
import { hashToken } from "../../identity/tokens/tokens.ts";

/** The open invitations of an organization, by address. */
export async function listInvitations(
  db: ControlDatabase,
  orgId: string,
  page: PageQuery,
): Promise<{ items: Invitation[]; next: string | null }> {
  const from = readPageCursor(page.cursor);
  let query = selectInvitations(db)
    .where("i.org_id", "=", orgId)
    .orderBy("i.email")
    .limit(page.limit + 1);
  if (from !== undefined) query = query.where("i.email", ">", from.after);
  const rows = await query.execute();
  return toPage(rows, page.limit, toInvitation, (row) => ({ after: row.email, id: row.id }));
}

/** Finds the open invitation of a link. @throws invitation_not_found */
export async function findByToken(db: ControlDatabase | Tx, token: string) {
  const found = await selectInvitations(db)
    .innerJoin("control.organizations as o", "o.id", "i.org_id")
    .select(["o.id as org_id", "o.name as organization"])
    .where("i.token_hash", "=", hashToken(token))
    .executeTakeFirst();
  if (found === undefined) throw notOpen();
  return found;
}

function selectInvitations(db: ControlDatabase | Tx) {
  return db
    .selectFrom("control.invitations as i")
    .leftJoin("identity.users as u", "u.id", "i.invited_by")
    .select(["i.id", "i.email", "i.role", "u.email as invited_by", "i.created_at", "i.expires_at"])
    .where("i.expires_at", ">", sql<Date>`now()`);
}

type InvitationRow = Pick<Invitation, "id" | "email" | "role"> & {
  readonly invited_by: string | null;
  readonly created_at: Date;
  readonly expires_at: Date;
};

export function toInvitation(row: InvitationRow): Invitation {
  return {
    id: row.id,
    email: row.email,
    role: row.role,
    invited_by: row.invited_by ?? "someone whose account was deleted",
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
  };
}

export function notOpen(): Error {
  return appError("invitation_not_found", {
    detail: "The invitation was used, withdrawn or replaced, has expired, or never existed.",
    hint: "Ask for another invitation.",
  });
}
