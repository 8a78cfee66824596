import type { Logger } from "@appdb/engine/ports";
import type { Notifications } from "../../database/notifications.ts";
import { type ControlDatabase, errorFields } from "../../database/pool.ts";
import { readRoutes } from "./read-routes.ts";
import type { RoutingTable } from "./routing-table.ts";

/** Recovers from lost notifications. */
const READ_AGAIN_MS = 10_000;

export interface FollowRoutesDeps {
  readonly db: ControlDatabase;
  readonly log: Logger;
  readonly notifications: Notifications;
  readonly table: RoutingTable;
}

/**
 * Keeps the routing table in sync with PostgreSQL. Resolves after the first read, even if it failed. While PostgreSQL
 * does not answer, the table stays unchanged.
 */
export async function followRoutes(deps: FollowRoutesDeps): Promise<AsyncDisposable> {
  const { db, log, notifications, table } = deps;
  let isStopped = false;
  let isLost = false;
  let last: Promise<void> = Promise.resolve();
  const waiting = new Set<string | undefined>();
  const read = async (id: string | undefined) => {
    waiting.delete(id);
    if (isStopped) return;
    try {
      const found = await readRoutes(db, id);
      if (id === undefined) table.replace(found);
      else table.set(id, found[0]);
      if (isLost) log.info({}, "the gateway reads routes again");
      isLost = false;
    } catch (error) {
      if (!isLost) log.warn(errorFields(error), "the gateway uses its last known routes: PostgreSQL does not answer");
      isLost = true;
    }
  };
  // one read at a time: an older result must not replace a newer one
  const readSoon = (id: string | undefined) => {
    if (waiting.has(id)) return last;
    waiting.add(id);
    last = last.then(() => read(id));
    return last;
  };
  let stop: (() => void) | undefined;
  const listen = async () => {
    try {
      stop ??= await notifications.listen("control_service_routes", (id) => void readSoon(id));
    } catch (error) {
      log.warn({ err: error }, "the gateway gets no notifications of new routes; it polls them");
    }
  };
  await listen();
  const timer = setInterval(() => {
    if (stop === undefined) void listen();
    void readSoon(undefined);
  }, READ_AGAIN_MS);
  await readSoon(undefined);
  return {
    async [Symbol.asyncDispose]() {
      isStopped = true;
      clearInterval(timer);
      stop?.();
      await last;
    },
  };
}
