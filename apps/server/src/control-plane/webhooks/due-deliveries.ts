import { type Selectable, sql } from "kysely";
import { MAX_ENDED } from "../../audit/webhook-limits.ts";
import type { ControlDatabase } from "../../database/pool.ts";
import type { ResourceTables } from "../../database/resource-tables.ts";
import { toEvent } from "../events/events-store.ts";

/** A due delivery, with everything needed to post it. */
export interface WaitingDelivery {
  readonly id: string;
  readonly attempts: number;
  /** Seconds since 1970, by the database's clock. */
  readonly timestamp: number;
  readonly webhook: Selectable<ResourceTables["control.webhooks"]>;
  readonly event: ReturnType<typeof toEvent>;
}

/** Whether a webhook accepts deliveries now. */
const isOpen = sql<boolean>`paused_at is null and (retry_at is null or retry_at <= now())`;

/** Ids of webhooks with due deliveries, least recently tried first. */
export async function findDueWebhooks(db: ControlDatabase, orgId: string, max: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`select w.id from control.webhooks w
    where w.org_id = ${orgId} and ${isOpen} and exists (
      select from control.deliveries d where d.webhook_id = w.id and d.state = 'pending' and d.next_attempt_at <= now())
    order by w.tried_at nulls first, w.id limit ${max}`.execute(db);
  return rows.map(({ id }) => id);
}

/** The longest due delivery of a webhook. Undefined if none is due or the webhook is paused. */
export async function findNextDelivery(db: ControlDatabase, webhookId: string): Promise<WaitingDelivery | undefined> {
  const webhook = await db
    .selectFrom("control.webhooks")
    .selectAll()
    .where("id", "=", webhookId)
    .where(isOpen)
    .executeTakeFirst();
  if (webhook === undefined) return undefined;
  const delivery = await db
    .selectFrom("control.deliveries")
    .select(["id", "event_id", "attempts", sql<number>`floor(extract(epoch from now()))::float8`.as("timestamp")])
    .where("webhook_id", "=", webhookId)
    .where("state", "=", "pending")
    .where("next_attempt_at", "<=", sql<Date>`now()`)
    .orderBy("next_attempt_at")
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
  if (delivery === undefined) return undefined;
  const { attempts, event_id: eventId, id, timestamp } = delivery;
  const event = await db.selectFrom("control.events").selectAll().where("id", "=", eventId).executeTakeFirstOrThrow();
  return { id, attempts, timestamp, webhook, event: toEvent(event) };
}

/** Seconds until the next delivery is due for a webhook that is not paused. Undefined if none waits. */
export async function findNextTurn(db: ControlDatabase, orgId: string): Promise<number | undefined> {
  const { rows } = await sql<{ delay_s: number | null }>`
    select greatest(0, extract(epoch from min(greatest(first.at, w.retry_at)) - now()))::float8 as delay_s
    from control.webhooks w cross join lateral (
      select min(d.next_attempt_at) as at from control.deliveries d where d.webhook_id = w.id and d.state = 'pending') first
    where w.org_id = ${orgId} and w.paused_at is null and first.at is not null`.execute(db);
  return rows[0]?.delay_s ?? undefined;
}

/** Organizations with due deliveries. */
export async function findDueOrganizations(db: ControlDatabase): Promise<string[]> {
  const { rows } = await sql<{ org_id: string }>`select distinct w.org_id from control.webhooks w
    where ${isOpen} and exists (
      select from control.deliveries d where d.webhook_id = w.id and d.state = 'pending' and d.next_attempt_at <= now())`.execute(
    db,
  );
  return rows.map(({ org_id: orgId }) => orgId);
}

/** Removes old completed deliveries. Each webhook keeps its newest ones. */
export async function forgetDeliveries(db: ControlDatabase): Promise<void> {
  await sql`delete from control.deliveries d using control.webhooks w cross join lateral (
      select id from control.deliveries where webhook_id = w.id and state <> 'pending' order by id desc offset ${MAX_ENDED} limit 1) last
    where d.webhook_id = w.id and d.state <> 'pending' and d.id <= last.id`.execute(db);
}
