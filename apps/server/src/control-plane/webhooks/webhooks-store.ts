import { appError } from "@appdb/contract/errors";
import type { Delivery, Webhook } from "@appdb/contract/routes/control";
import type { Selectable } from "kysely";
import { type PageQuery, readPageCursor, toPage } from "../../database/pages.ts";
import type { ControlDatabase, Tx } from "../../database/pool.ts";
import type { ResourceTables } from "../../database/resource-tables.ts";
import { isUuid } from "../../database/uuid.ts";

type WebhookRow = Selectable<ResourceTables["control.webhooks"]>;
type DeliveryRow = Selectable<ResourceTables["control.deliveries"]>;

/** The name under which a webhook's signing secret is encrypted. */
export function signingName(webhookId: string): string {
  return `webhook ${webhookId}`;
}

export async function listWebhooks(db: ControlDatabase, orgId: string, page: PageQuery) {
  const from = readPageCursor(page.cursor, "id");
  let query = db.selectFrom("control.webhooks").selectAll().where("org_id", "=", orgId);
  if (from !== undefined) query = query.where("id", ">", from.id);
  const rows = await query
    .orderBy("id")
    .limit(page.limit + 1)
    .execute();
  return toPage(rows, page.limit, toWebhook, (row) => ({ after: "", id: row.id }));
}

/** Deliveries of a webhook, newest first. @throws webhook_not_found */
export async function listDeliveries(db: ControlDatabase, orgId: string, webhookId: string, page: PageQuery) {
  const webhook = await findWebhook(db, orgId, webhookId);
  const from = readPageCursor(page.cursor, "id");
  let query = db.selectFrom("control.deliveries").selectAll().where("webhook_id", "=", webhook.id);
  if (from !== undefined) query = query.where("id", "<", from.id);
  const rows = await query
    .orderBy("id", "desc")
    .limit(page.limit + 1)
    .execute();
  return toPage(rows, page.limit, toDelivery, (row) => ({ after: "", id: row.id }));
}

/** @throws webhook_not_found, also for one of another organization */
export async function findWebhook(db: ControlDatabase | Tx, orgId: string, id: string): Promise<WebhookRow> {
  const found = isUuid(id)
    ? await db
        .selectFrom("control.webhooks")
        .selectAll()
        .where("org_id", "=", orgId)
        .where("id", "=", id)
        .executeTakeFirst()
    : undefined;
  if (found !== undefined) return found;
  throw notFound("webhook", id);
}

/** @throws webhook_not_found */
export async function findDelivery(tx: Tx, webhookId: string, id: string): Promise<DeliveryRow> {
  const found = isUuid(id)
    ? await tx
        .selectFrom("control.deliveries")
        .selectAll()
        .where("webhook_id", "=", webhookId)
        .where("id", "=", id)
        .forUpdate()
        .executeTakeFirst()
    : undefined;
  if (found !== undefined) return found;
  throw notFound("delivery", id);
}

export function toWebhook(row: WebhookRow): Webhook {
  return {
    id: row.id,
    url: row.url,
    actions: [...row.actions],
    created_at: row.created_at.toISOString(),
    failing_since: row.failing_since?.toISOString() ?? null,
    paused_at: row.paused_at?.toISOString() ?? null,
  };
}

export function toDelivery(row: DeliveryRow): Delivery {
  return {
    id: row.id,
    event_id: row.event_id,
    state: row.state,
    attempts: row.attempts,
    last_status: row.last_status,
    last_error: row.last_error,
    next_attempt_at: row.next_attempt_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
  };
}

function notFound(what: "webhook" | "delivery", id: string): Error {
  return appError("webhook_not_found", {
    detail: `There is no ${what} ${JSON.stringify(id.slice(0, 60))} here.`,
    hint: "List the webhooks of the organization to see their ids.",
    meta: { id: id.slice(0, 60) },
  });
}
