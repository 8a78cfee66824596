import { appError } from "@appdb/contract/errors";
import type { AuditEvent } from "@appdb/contract/routes/control";
import { type Selectable, sql } from "kysely";
import { type PageQuery, readPageCursor, toPage } from "../../database/pages.ts";
import type { ControlDatabase, Tx } from "../../database/pool.ts";
import type { ResourceTables } from "../../database/resource-tables.ts";

const STREAM_PAGE = 200;
const ID = /^\d{1,18}$/;

/** Events of an organization, newest first. @throws invalid_cursor */
export async function listEvents(
  db: ControlDatabase,
  orgId: string,
  page: PageQuery,
): Promise<{ items: AuditEvent[]; next: string | null }> {
  const from = readPageCursor(page.cursor);
  let query = selectEvents(db)
    .where("org_id", "=", orgId)
    .orderBy("id", "desc")
    .limit(page.limit + 1);
  if (from !== undefined) query = query.where("id", "<", parseEventId(from.id, "cursor"));
  return toPage(await query.execute(), page.limit, toEvent, (row) => ({ after: "", id: row.id }));
}

/** The next page of events after a given one, oldest first. */
export async function readEventsAfter(db: ControlDatabase, orgId: string, after: string): Promise<AuditEvent[]> {
  const rows = await selectEvents(db)
    .where("org_id", "=", orgId)
    .where("id", ">", after)
    .orderBy("id")
    .limit(STREAM_PAGE)
    .execute();
  return rows.map(toEvent);
}

/** The number of the newest event, or "0". */
export async function newestEvent(db: ControlDatabase, orgId: string): Promise<string> {
  const row = await db
    .selectFrom("control.events")
    .select(sql<string | null>`max(id)`.as("id"))
    .where("org_id", "=", orgId)
    .executeTakeFirst();
  return row?.id ?? "0";
}

/** @throws invalid_cursor if the text is not an event number */
export function parseEventId(text: string, where: string): string {
  if (ID.test(text)) return text;
  throw appError("invalid_cursor", {
    detail: `${JSON.stringify(text.slice(0, 40))} in ${where} is not the id of an event.`,
    hint: "Send the id of the last event that you read, or no id to get only new events.",
  });
}

type EventRow = Selectable<ResourceTables["control.events"]>;

export function toEvent(row: EventRow): AuditEvent {
  return {
    id: row.id,
    at: row.at.toISOString(),
    action: row.action,
    target: row.target,
    actor: row.actor,
    ip_address: row.ip_address,
    client: row.client,
    outcome: row.outcome,
    operation_id: row.operation_id,
    detail: row.detail,
  };
}

export function selectEvents(db: ControlDatabase | Tx) {
  return db.selectFrom("control.events").selectAll();
}
