import { sql } from "kysely";
import type { Database, Tx } from "../../database/pool.ts";
import { enqueueJob } from "../../reconciler/jobs.ts";
import type { AfterEvent } from "../events/record-event.ts";

/** Adds a delivery for every webhook that takes the event, and its job, in the event's transaction. */
export const addDeliveries: AfterEvent = async (tx, event) => {
  const { rows } = await sql<{ id: string }>`
    insert into control.deliveries (webhook_id, event_id, next_attempt_at)
    select id, ${event.id}, now() from control.webhooks
    where org_id = ${event.org_id} and (cardinality(actions) = 0 or ${event.action} = any(actions)
      or exists (select from unnest(actions) a where a like '%.*' and starts_with(${event.action}, left(a, -1))))
    returning id`.execute(tx);
  for (const { id } of rows) await enqueueDelivery(tx, id);
};

export async function enqueueDelivery(db: Database | Tx, id: string, delay_s = 0): Promise<void> {
  await enqueueJob(db, "deliver-webhook", { delivery_id: id }, { job_key: `deliver ${id}`, delay_s });
}
