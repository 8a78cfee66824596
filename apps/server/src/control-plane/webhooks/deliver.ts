import type { Logger } from "@appdb/engine/ports";
import { sql } from "kysely";
import type { Database } from "../../database/pool.ts";
import { toEvent } from "../events/store.ts";
import type { Envelope } from "../secrets/envelope.ts";
import { enqueueDelivery } from "./add-deliveries.ts";
import { postDelivery } from "./post-delivery.ts";
import { signingName } from "./store.ts";

/** How long to wait after the first, second, ... attempt that failed; the last one repeats until the delivery is given up. */
const BACKOFF_S = [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400];

export function backoffSeconds(attempts: number): number {
  return BACKOFF_S[Math.min(attempts, BACKOFF_S.length) - 1] ?? 0;
}

export interface DeliverDeps {
  readonly db: Database;
  readonly log: Logger;
  readonly envelope: Envelope;
  readonly allow_private: boolean;
}

/** Makes one attempt at a delivery that is pending, and adds the next one's job when it failed. It may be made twice after a
 *  crash: receivers know a delivery by its id. */
export async function deliverWebhook(deps: DeliverDeps, delivery_id: string): Promise<void> {
  const { db } = deps;
  const found = await findPending(db, delivery_id);
  if (found === undefined) return;
  const { webhook, event, timestamp } = found;
  const owner = { org_id: webhook.org_id, database_id: null };
  const sealed = { data_key_id: webhook.data_key_id, sealed: webhook.sealed_secret };
  const secret = await deps.envelope.open(db, owner, signingName(webhook.id), sealed);
  const result = await postDelivery({
    ...{ url: webhook.url, delivery_id, timestamp, allow_private: deps.allow_private },
    body: JSON.stringify(event),
    signing_secret: secret.reveal(),
  });
  await db.transaction().execute(async (tx) => {
    const row = await tx
      .updateTable("control.deliveries")
      .set({
        attempts: sql<number>`attempts + 1`,
        last_status: result.status,
        last_error: result.error,
        state: result.is_delivered ? "delivered" : sql`case when now() > give_up_at then 'dead' else 'pending' end`,
        next_attempt_at: null,
      })
      .where("id", "=", delivery_id)
      .where("state", "=", "pending")
      .returning(["state", "attempts"])
      .executeTakeFirst();
    if (row === undefined) return;
    await tx
      .updateTable("control.webhooks")
      .set({ failing_since: result.is_delivered ? null : sql<Date>`coalesce(failing_since, now())` })
      .where("id", "=", webhook.id)
      .execute();
    if (row.state !== "pending") return;
    const delay_s = backoffSeconds(row.attempts);
    await tx
      .updateTable("control.deliveries")
      .set({ next_attempt_at: sql<Date>`now() + make_interval(secs => ${delay_s}::float8)` })
      .where("id", "=", delivery_id)
      .execute();
    await enqueueDelivery(tx, delivery_id, delay_s);
  });
  if (!result.is_delivered)
    deps.log.info({ delivery: delivery_id, status: result.status }, "a webhook was not delivered");
}

async function findPending(db: Database, id: string) {
  const delivery = await db
    .selectFrom("control.deliveries")
    .select(["webhook_id", "event_id", sql<number>`floor(extract(epoch from now()))::float8`.as("timestamp")])
    .where("id", "=", id)
    .where("state", "=", "pending")
    .executeTakeFirst();
  if (delivery === undefined) return undefined;
  const webhook = await db
    .selectFrom("control.webhooks")
    .selectAll()
    .where("id", "=", delivery.webhook_id)
    .executeTakeFirst();
  const event = await db
    .selectFrom("control.events")
    .selectAll()
    .where("id", "=", delivery.event_id)
    .executeTakeFirst();
  if (webhook === undefined || event === undefined) return undefined;
  return { webhook, event: toEvent(event), timestamp: delivery.timestamp };
}
