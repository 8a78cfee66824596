import type { RecordEvent } from "../../audit/event.ts";
import type { Notifications } from "../../database/notifications.ts";
import type { ControlDatabase } from "../../database/pool.ts";
import type { ControlRoutes } from "../../requests/checked-route.ts";
import { cancelOperation } from "./cancel-operation.ts";
import { listOperations, requireGrant } from "./operations-store.ts";
import { waitOperation } from "./wait-operation.ts";

export interface OperationRouteDeps {
  readonly db: ControlDatabase;
  readonly notifications: Notifications;
  readonly recordEvent: RecordEvent;
  /** Aborts when the server stops. */
  readonly stopping: AbortSignal;
}

export function addOperationRoutes(routes: ControlRoutes, deps: OperationRouteDeps): void {
  const { db, recordEvent } = deps;
  routes.add("operationList", async ({ org, query }) => listOperations(db, org, query));
  routes.add("operationShow", async ({ org, params, principal, query, reply }) => {
    await requireGrant(db, org.id, params.id, principal);
    const aborted = new AbortController();
    const onDisconnect = () => aborted.abort();
    reply.raw.once("close", onDisconnect);
    const signal = AbortSignal.any([aborted.signal, deps.stopping]);
    const request = { org_id: org.id, id: params.id, wait_ms: query.wait_ms };
    const operation = await waitOperation(deps, request, signal);
    // otherwise the server waits for the connection's next request before it stops
    if (deps.stopping.aborted) reply.header("connection", "close");
    return operation;
  });
  routes.change("operationCancel", async (call, tx) => cancelOperation({ tx, recordEvent }, call, call.params.id));
}
