import { randomBytes, randomUUID } from "node:crypto";
import { appError } from "@appdb/contract/errors";
import type { CreatedWebhook, Delivery, Webhook, webhookCreateSchema } from "@appdb/contract/routes/control";
import { sql } from "kysely";
import type * as z from "zod";
import { doneBy } from "../../audit/event.ts";
import { MAX_WEBHOOKS } from "../../audit/webhook-limits.ts";
import { enqueueDeliveries } from "../../queue/jobs.ts";
import type { Envelope } from "../../secrets/envelope.ts";
import type { Caller, KeyChangeDeps } from "../keys/create-key.ts";
import { checkWebhookUrl } from "./addresses.ts";
import { findDelivery, findWebhook, signingName, toDelivery, toWebhook } from "./webhooks-store.ts";

const SECRET_BYTES = 32;
const ACTION = /^[a-z_]+\.([a-z_]+|\*)$/;

export interface WebhookDeps extends KeyChangeDeps {
  readonly envelope: Envelope;
  readonly allow_private: boolean;
}

/** Creates a webhook and returns its signing secret, this once. @throws webhook_refused, invalid_request */
export async function createWebhook(
  deps: WebhookDeps,
  caller: Caller,
  input: z.output<typeof webhookCreateSchema>,
): Promise<CreatedWebhook> {
  const { tx } = deps;
  const { org } = caller;
  const { href: url } = checkWebhookUrl(input.url, deps.allow_private);
  const wrong = input.actions.find((action) => !ACTION.test(action));
  if (wrong !== undefined) throw wrongAction(wrong);
  const { count } = await tx
    .selectFrom("control.webhooks")
    .select(({ fn }) => fn.countAll<string>().as("count"))
    .where("org_id", "=", org.id)
    .executeTakeFirstOrThrow();
  if (Number(count) >= MAX_WEBHOOKS) throw tooMany(org.name);
  const id = randomUUID();
  const signingSecret = `whsec_${randomBytes(SECRET_BYTES).toString("base64")}`;
  const { data_key_id: dataKeyId, sealed } = await deps.envelope.seal(
    tx,
    { org_id: org.id, database_id: null },
    signingName(id),
    signingSecret,
  );
  const row = await tx
    .insertInto("control.webhooks")
    .values({
      id,
      org_id: org.id,
      url,
      actions: [...new Set(input.actions)],
      data_key_id: dataKeyId,
      sealed_secret: sealed,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  await record(deps, caller, "webhook.create", id, new URL(url).origin);
  return { ...toWebhook(row), signing_secret: signingSecret };
}

/** @throws webhook_not_found */
export async function deleteWebhook(deps: WebhookDeps, caller: Caller, id: string): Promise<void> {
  const webhook = await findWebhook(deps.tx, caller.org.id, id);
  await deps.tx.deleteFrom("control.webhooks").where("id", "=", webhook.id).execute();
  await record(deps, caller, "webhook.delete", webhook.id, new URL(webhook.url).origin);
}

/** Posts a webhook's waiting deliveries now, even if it is paused or failed recently. @throws webhook_not_found */
export async function resumeWebhook(deps: WebhookDeps, caller: Caller, id: string): Promise<Webhook> {
  const { tx } = deps;
  const webhook = await findWebhook(tx, caller.org.id, id);
  // lock deliveries before their webhook, like the recording of a result
  await sql`update control.deliveries set next_attempt_at = now() where id in (
    select id from control.deliveries where webhook_id = ${webhook.id} and state = 'pending' order by id for update)`.execute(
    tx,
  );
  const row = await tx
    .updateTable("control.webhooks")
    .set({ paused_at: null, retry_at: null, failing_since: null, failures: 0 })
    .where("id", "=", webhook.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  await record(deps, caller, "webhook.resume", webhook.id, new URL(webhook.url).origin);
  await enqueueDeliveries(tx, caller.org.id);
  return toWebhook(row);
}

/** Posts a delivery again and retries it for three more days. Resumes a paused webhook. @throws webhook_not_found */
export async function replayDelivery(
  deps: WebhookDeps,
  caller: Caller,
  request: { readonly id: string; readonly delivery: string },
): Promise<Delivery> {
  const { tx } = deps;
  const webhook = await findWebhook(tx, caller.org.id, request.id);
  const { id } = await findDelivery(tx, webhook.id, request.delivery);
  const row = await tx
    .updateTable("control.deliveries")
    .set({ state: "pending", next_attempt_at: sql<Date>`now()`, give_up_at: sql<Date>`now() + interval '3 days'` })
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();
  if (webhook.paused_at === null && webhook.retry_at === null) await enqueueDeliveries(tx, caller.org.id);
  else await resumeWebhook(deps, caller, webhook.id);
  return toDelivery(row);
}

/** Records only the origin: paths of webhooks are often secret. */
async function record(deps: WebhookDeps, caller: Caller, action: string, id: string, origin: string): Promise<void> {
  await deps.recordEvent(deps.tx, {
    action,
    target: id,
    ...doneBy(caller),
    detail: { origin },
  });
}

function wrongAction(action: string): Error {
  return appError("invalid_request", {
    detail: `${JSON.stringify(action)} is not a known event action.`,
    hint: "Use actions such as key.create, or key.* for all actions of keys.",
    errors: [{ pointer: "/actions", detail: "contains an unknown action" }],
  });
}

function tooMany(org: string): Error {
  return appError("invalid_request", {
    detail: `${org} has ${MAX_WEBHOOKS} webhooks, the maximum.`,
    hint: "Delete one that is no longer needed.",
  });
}
