import { sql } from "kysely";
import type { EventInput, RecordEvent } from "./event.ts";

const LONGEST = 300;

/** Writes further rows in the event's transaction: deliveries to webhooks. */
export type AfterEvent = (
  tx: Parameters<RecordEvent>[0],
  event: { readonly id: string; readonly org_id: string; readonly action: string },
) => Promise<void>;

/** Creates the audit log's writer. Call it last in a transaction: it serializes an organization's events. */
export function createRecordEvent(afterEvent: AfterEvent): RecordEvent {
  return async (tx, event) => {
    const { rows } = await sql<{ id: string }>`
      insert into control.events
        (org_id, action, target, actor, user_id, key_id, ip_address, client, outcome, operation_id, detail)
      values (${event.org_id}, ${event.action}, ${line(event.target)}, ${line(event.actor)},
        ${event.principal?.user_id ?? null}, ${event.principal?.key?.id ?? null}, ${event.ip_address},
        ${event.client === null ? null : line(event.client)}, ${event.outcome}, ${event.operation_id ?? null},
        ${toJson(event)}::jsonb)
      returning id`.execute(tx);
    const [created] = rows;
    if (created === undefined || event.org_id === null) return;
    await afterEvent(tx, { id: created.id, org_id: event.org_id, action: event.action });
  };
}

/** Puts text from callers (an address at sign-in, a User-Agent) on one line, without terminal escapes. */
function line(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "?")
    .slice(0, LONGEST)
    .toWellFormed();
}

/** PostgreSQL's jsonb rejects NUL characters and lone surrogates. */
function toJson(event: EventInput): string {
  return JSON.stringify(event.detail ?? {}, (_name, value: unknown) =>
    typeof value === "string" ? line(value) : value,
  );
}
