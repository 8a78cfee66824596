import type { Logger } from "@appdb/engine/ports";
import type { Notifications } from "../../database/notifications.ts";
import { type ControlDatabase, sayError } from "../../database/pool.ts";
import { readRoutes } from "./read-routes.ts";
import type { RoutingTable } from "./routing-table.ts";

/** A notification that was lost is made good for after this. */
const READ_AGAIN_MS = 10_000;

export interface FollowRoutesDeps {
  readonly db: ControlDatabase;
  readonly log: Logger;
  readonly notifications: Notifications;
  readonly table: RoutingTable;
}

/**
 * Keeps the routing table as PostgreSQL has it. Resolves after the first reading, or when PostgreSQL did not answer it: the table stays
 * as it is until it does.
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
      if (isLost) log.info({}, "the gateway reads where requests go again");
      isLost = false;
    } catch (error) {
      if (!isLost)
        log.warn(sayError(error), "the gateway goes on with the routes that it knows: PostgreSQL does not answer");
      isLost = true;
    }
  };
  // one after the other: what was read later is never overwritten by what was read before
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
      log.warn({ err: error }, "the gateway is not told of new routes; it reads them now and then");
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
