import { sql } from "kysely";
import type { ControlDatabase, Tx } from "../database/pool.ts";
import { enqueueDeliveries } from "../queue/jobs.ts";
import type { AfterEvent } from "./record-event.ts";
import { MAX_WAITING } from "./webhook-limits.ts";

/** Adds the event's deliveries to webhooks and the job that posts them, in the event's transaction. */
export const addDeliveries: AfterEvent = async (tx, event) => {
  const { rows } = await sql<{ webhook_id: string }>`
    insert into control.deliveries (webhook_id, event_id, next_attempt_at)
    select id, ${event.id}, now() from control.webhooks
    where org_id = ${event.org_id} and (cardinality(actions) = 0 or ${event.action} = any(actions)
      or exists (select from unnest(actions) a where a like '%.*' and starts_with(${event.action}, left(a, -1))))
    returning webhook_id`.execute(tx);
  if (rows.length === 0) return;
  await dropOldest(
    tx,
    rows.map(({ webhook_id: webhookId }) => webhookId),
  );
  await enqueueDeliveries(tx, event.org_id);
};

/** Keeps a delivery that is being posted: its worker may wait for the event lock that this transaction holds. */
async function dropOldest(tx: ControlDatabase | Tx, webhookIds: readonly string[]): Promise<void> {
  const note = `Dropped: more than ${MAX_WAITING} deliveries were waiting, and this was the oldest.`;
  await sql`
    update control.deliveries set state = 'dead', next_attempt_at = null, last_error = ${note} where id in (
      select d.id from unnest(${webhookIds}::uuid[]) w (id)
      cross join lateral (
        select id from control.deliveries where webhook_id = w.id and state = 'pending' order by id desc offset ${MAX_WAITING}) over
      join control.deliveries d on d.id = over.id
      for update of d skip locked)`.execute(tx);
}
