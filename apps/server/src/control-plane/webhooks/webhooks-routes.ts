import type { RecordEvent } from "../../audit/event.ts";
import type { ControlDatabase } from "../../database/pool.ts";
import type { ControlRoutes } from "../../requests/checked-route.ts";
import type { Envelope } from "../../secrets/envelope.ts";
import { createWebhook, deleteWebhook, replayDelivery, resumeWebhook } from "./change-webhooks.ts";
import { listDeliveries, listWebhooks } from "./webhooks-store.ts";

export interface WebhookRouteDeps {
  readonly db: ControlDatabase;
  readonly envelope: Envelope;
  readonly recordEvent: RecordEvent;
  readonly allow_private: boolean;
}

export function addWebhookRoutes(routes: ControlRoutes, deps: WebhookRouteDeps): void {
  const { db } = deps;
  routes.add("webhookList", async ({ org, query }) => listWebhooks(db, org.id, query));
  routes.change("webhookCreate", async (call, tx) => createWebhook({ ...deps, tx }, call, call.body));
  routes.change("webhookDelete", async (call, tx) => deleteWebhook({ ...deps, tx }, call, call.params.id));
  routes.change("webhookResume", async (call, tx) => resumeWebhook({ ...deps, tx }, call, call.params.id));
  routes.add("deliveryList", async ({ org, params, query }) => listDeliveries(db, org.id, params.id, query));
  routes.change("deliveryReplay", async (call, tx) => replayDelivery({ ...deps, tx }, call, call.params));
}
