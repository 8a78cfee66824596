import { performance } from "node:perf_hooks";
import type { Logger } from "@appdb/engine/ports";
import { sql } from "kysely";
import { BY_SYSTEM, type RecordEvent } from "../../audit/event.ts";
import { MAX_FAILURES, WEBHOOKS_AT_ONCE } from "../../audit/webhook-limits.ts";
import type { ControlDatabase } from "../../database/pool.ts";
import { enqueueDeliveries } from "../../queue/jobs.ts";
import type { Envelope } from "../../secrets/envelope.ts";
import { findDueWebhooks, findNextDelivery, findNextTurn, type WaitingDelivery } from "./due-deliveries.ts";
import { type PostResult, postDelivery } from "./post-delivery.ts";
import { signingName } from "./webhooks-store.ts";

/** Pauses after the first, second, ... failed attempt. The last one repeats until the delivery is given up. */
const BACKOFF_S = [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400];
/** Duration of one job. A webhook that answers gets one delivery after another. A running attempt may finish. */
const TURN_MS = 5_000;
const MAX_FAILING = "3 days";

/** The pause after this many consecutive failures. */
export function backoffSeconds(failures: number): number {
  return BACKOFF_S[Math.min(failures, BACKOFF_S.length) - 1] ?? 0;
}

export interface DeliverDeps {
  readonly db: ControlDatabase;
  readonly log: Logger;
  readonly envelope: Envelope;
  readonly recordEvent: RecordEvent;
  readonly allow_private: boolean;
}

/**
 * Posts the due deliveries of an organization's webhooks, least recently tried webhooks first. Adds a job for the next
 * turn if more wait. A turn lasts 5 seconds and one attempt. A failed webhook gets nothing until its pause ends. After
 * a crash a delivery may be posted twice; receivers recognize it by its id.
 */
export async function deliverWebhooks(deps: DeliverDeps, orgId: string, signal: AbortSignal): Promise<void> {
  const { db } = deps;
  const until = performance.now() + TURN_MS;
  const due = await findDueWebhooks(db, orgId, WEBHOOKS_AT_ONCE);
  const lanes = await Promise.allSettled(due.map((id) => deliverInOrder(deps, id, until, signal)));
  for (const lane of lanes) if (lane.status === "rejected") throw lane.reason;
  const delayS = await findNextTurn(db, orgId);
  if (delayS !== undefined) await enqueueDeliveries(db, orgId, delayS);
}

async function deliverInOrder(deps: DeliverDeps, webhookId: string, until: number, signal: AbortSignal): Promise<void> {
  do {
    const delivery = await findNextDelivery(deps.db, webhookId);
    if (delivery === undefined || !(await deliver(deps, delivery, signal))) return;
  } while (performance.now() < until);
}

/** Whether the delivery succeeded. */
async function deliver(deps: DeliverDeps, delivery: WaitingDelivery, signal: AbortSignal): Promise<boolean> {
  const { event, id, timestamp, webhook } = delivery;
  const owner = { org_id: webhook.org_id, database_id: null };
  const sealed = { data_key_id: webhook.data_key_id, sealed: webhook.sealed_secret };
  const secret = await deps.envelope.open(deps.db, owner, signingName(webhook.id), sealed);
  const posted = { url: webhook.url, delivery_id: id, timestamp, allow_private: deps.allow_private };
  const result = await postDelivery(
    { ...posted, body: JSON.stringify(event), signing_secret: secret.reveal() },
    signal,
  );
  if (!result.is_delivered) {
    // the server is stopping: the webhook did not fail
    signal.throwIfAborted();
    deps.log.info({ delivery: id, status: result.status }, "could not deliver a webhook");
  }
  await recordResult(deps, delivery, result);
  return result.is_delivered;
}

async function recordResult(deps: DeliverDeps, { attempts, id, webhook }: WaitingDelivery, result: PostResult) {
  const after = (failures: number) => sql<Date>`now() + make_interval(secs => ${backoffSeconds(failures)}::float8)`;
  const { error, is_delivered: isDelivered, status } = result;
  await deps.db.transaction().execute(async (tx) => {
    const retryAt = after(attempts + 1);
    const row = await tx
      .updateTable("control.deliveries")
      .set({
        attempts: sql<number>`attempts + 1`,
        last_status: status,
        last_error: error,
        state: isDelivered ? "delivered" : sql`case when now() > give_up_at then 'dead' else 'pending' end`,
        next_attempt_at: isDelivered ? null : sql<Date>`case when now() > give_up_at then null else ${retryAt} end`,
      })
      .where("id", "=", id)
      .where("state", "=", "pending")
      .returning("id")
      .executeTakeFirst();
    if (row === undefined) return;
    const { failures } = await tx
      .updateTable("control.webhooks")
      .set({
        failing_since: isDelivered ? null : sql<Date>`coalesce(failing_since, now())`,
        failures: isDelivered ? 0 : sql<number>`failures + 1`,
        retry_at: isDelivered ? null : after(webhook.failures + 1),
        tried_at: sql<Date>`now()`,
      })
      .where("id", "=", webhook.id)
      .returning("failures")
      .executeTakeFirstOrThrow();
    if (isDelivered) return;
    const paused = await tx
      .updateTable("control.webhooks")
      .set({ paused_at: sql<Date>`now()` })
      .where("id", "=", webhook.id)
      .where("paused_at", "is", null)
      .where(sql<boolean>`(failures >= ${MAX_FAILURES} or failing_since < now() - ${MAX_FAILING}::interval)`)
      .returning("id")
      .executeTakeFirst();
    if (paused === undefined) return;
    deps.log.info({ webhook: webhook.id, failures }, "a webhook was paused");
    await deps.recordEvent(tx, {
      action: "webhook.pause",
      target: webhook.id,
      org_id: webhook.org_id,
      ...BY_SYSTEM,
      outcome: "succeeded",
      detail: { origin: new URL(webhook.url).origin, failures, last_error: error },
    });
  });
}
