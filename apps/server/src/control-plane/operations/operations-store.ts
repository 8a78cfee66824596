import { databaseUriOf } from "@appdb/contract/control/resource-names";
import { appError } from "@appdb/contract/errors";
import type { Operation } from "@appdb/contract/routes/control";
import { sql } from "kysely";
import type { Principal } from "../../audit/principal.ts";
import { type PageQuery, readPageCursor, toPage } from "../../database/pages.ts";
import type { ControlDatabase, Tx } from "../../database/pool.ts";
import type { OperationRow } from "../../database/resource-tables.ts";
import { isUuid } from "../../database/uuid.ts";
import { mayManageSome } from "../../requests/manage-grants.ts";

/** Operations of an organization, or of one database and its services, newest first. The database may be deleted. */
export async function listOperations(
  db: ControlDatabase,
  org: { readonly id: string; readonly name: string },
  page: PageQuery & { readonly database?: string | undefined },
): Promise<{ items: Operation[]; next: string | null }> {
  const from = readPageCursor(page.cursor, "id");
  let query = db
    .selectFrom("control.operations")
    .selectAll()
    .where("org_id", "=", org.id)
    .orderBy("id", "desc")
    .limit(page.limit + 1);
  if (from !== undefined) query = query.where("id", "<", from.id);
  if (page.database !== undefined) {
    const uri = databaseUriOf(org.name, page.database);
    // including those of its services
    query = query.where((of) => of.or([of("target", "=", uri), sql<boolean>`starts_with(target, ${`${uri}/`})`]));
  }
  return toPage(await query.execute(), page.limit, toOperation, (row) => ({ after: "", id: row.id }));
}

/** A key with grants sees only operations of services that it may manage. @throws operation_not_found for others */
export async function requireGrant(
  db: ControlDatabase,
  orgId: string,
  id: string,
  principal: Principal,
): Promise<void> {
  if (principal.user_id !== null) return;
  const { target } = await findOperation(db, orgId, id);
  const [, database, service] = /^[^:]*:\/\/[^:]*:([^/]*)\/(.*)$/.exec(target) ?? [];
  if (service === undefined || !mayManageSome(principal, database, service)) throw operationNotFound(id);
}

/** @throws operation_not_found, also for one of another organization */
export async function findOperation(db: ControlDatabase | Tx, orgId: string, id: string): Promise<OperationRow> {
  const found = isUuid(id)
    ? await db
        .selectFrom("control.operations")
        .selectAll()
        .where("org_id", "=", orgId)
        .where("id", "=", id)
        .executeTakeFirst()
    : undefined;
  if (found !== undefined) return found;
  throw operationNotFound(id);
}

function operationNotFound(id: string): Error {
  return appError("operation_not_found", {
    detail: `There is no operation ${JSON.stringify(id.slice(0, 60))} here.`,
    hint: "List the operations: cli operations list",
    meta: { id: id.slice(0, 60) },
  });
}

export function toOperation(row: OperationRow): Operation {
  return {
    id: row.id,
    kind: row.kind,
    target: row.target,
    state: row.state,
    actor: row.actor,
    detail: row.detail,
    error: row.error,
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    ended_at: row.ended_at?.toISOString() ?? null,
  };
}

export function hasEnded(row: Pick<OperationRow, "ended_at">): boolean {
  return row.ended_at !== null;
}
