import { sql } from "kysely";
import type { EventInput, RecordEvent } from "./event.ts";

const LONGEST = 300;

/** What else is written with an event, in its transaction: deliveries to webhooks. */
export type AfterEvent = (
  tx: Parameters<RecordEvent>[0],
  event: { readonly id: string; readonly org_id: string; readonly action: string },
) => Promise<void>;

/** Makes what writes the audit log. It is the last statement of a change: events of an organization are written one by one. */
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
    const [made] = rows;
    if (made === undefined || event.org_id === null) return;
    await afterEvent(tx, { id: made.id, org_id: event.org_id, action: event.action });
  };
}

/** Texts of strangers (an address at a sign-in, a program's name) may hold line ends and escapes of terminals. */
function line(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "?")
    .slice(0, LONGEST)
    .toWellFormed();
}

/** PostgreSQL's jsonb takes no NUL, and no half of a pair. */
function toJson(event: EventInput): string {
  return JSON.stringify(event.detail ?? {}, (_name, value: unknown) =>
    typeof value === "string" ? line(value) : value,
  );
}
