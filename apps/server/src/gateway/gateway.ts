import type { Logger } from "@appdb/engine/ports";
import type { Registry } from "prom-client";
import type { GatewayConfig } from "../config-gateway.ts";
import type { RecordEvent } from "../control-plane/events/event.ts";
import type { KeySnapshots } from "../control-plane/keys/key-snapshots.ts";
import type { Notifications } from "../database/notifications.ts";
import type { Database } from "../database/pool.ts";
import type { ServerPlace } from "../pods/database-places.ts";
import { createDatabaseKeys } from "./database-keys.ts";
import { createDatabasePorts } from "./database-ports.ts";
import { followRoutes } from "./follow-routes.ts";
import { createGatewayMetrics } from "./gateway-metrics.ts";
import { type HandleDeps, handleRequest } from "./handle-request.ts";
import { createPodAgents } from "./pod-agents.ts";
import { createPodPlaces } from "./pod-places.ts";
import { createRateLimits } from "./rate-limits.ts";
import { createRoutingTable, type RoutingTable } from "./routing-table.ts";
import { createAccept, createPlainServer } from "./serve-requests.ts";
import { createWaking } from "./waking.ts";

export interface GatewayDeps {
  readonly config: GatewayConfig;
  readonly place: ServerPlace;
  readonly log: Logger;
  readonly db: Database;
  readonly notifications: Notifications;
  readonly snapshots: Pick<KeySnapshots, "publicKey" | "follow">;
  readonly recordEvent: RecordEvent;
  readonly metrics: Registry;
}

export interface Gateway extends AsyncDisposable {
  readonly table: RoutingTable;
}

/** Requests that are under way when the gateway stops have this long to end. */
const STOP_MS = 10_000;

/** Serves the services of all databases. Resolves when each database that there is has its address. */
export async function startGateway(deps: GatewayDeps): Promise<Gateway> {
  const { config, log, db } = deps;
  const table = createRoutingTable();
  const keys = createDatabaseKeys(deps);
  const agents = createPodAgents();
  const places = createPodPlaces(deps.place);
  const in_flight = new Map<string, number>();
  const metrics = createGatewayMetrics(deps.metrics, () => [...in_flight.values()].reduce((sum, one) => sum + one, 0));
  const handling: HandleDeps = {
    ...{ log, table, keys, agents, in_flight, places, limits: config.limits },
    rates: createRateLimits(config.limits.key_rate),
    waking: createWaking({ ...deps, table }),
  };
  const ports = createDatabasePorts({
    ...{ db, log, table, host: config.host },
    createServer: (id) =>
      createPlainServer(
        createAccept({
          ...{ log, metrics, is_secure: false },
          findDatabase: () => table.byId(id),
          handle: (exchange) => handleRequest(handling, exchange),
        }),
        metrics,
      ),
  });
  let is_due = false;
  const following = await followRoutes({ ...deps, table });
  const look = () => {
    is_due = false;
    agents.keepOnly(new Set(places.serving(table).map(({ http_socket }) => http_socket)));
    return ports.follow();
  };
  // once for many changes that come together
  table.onChange(() => {
    if (!is_due) setImmediate(() => void look());
    is_due = true;
  });
  await look();
  const stop = async () => {
    await following[Symbol.asyncDispose]();
    ports.stop();
    await ports.follow();
    await Promise.all([...ports.servers()].map(endServer));
    keys[Symbol.dispose]();
    agents[Symbol.dispose]();
  };
  let stopped: Promise<void> | undefined;
  return { table, [Symbol.asyncDispose]: () => (stopped ??= stop()) };
}

interface EndableServer {
  close(done: () => void): unknown;
  closeIdleConnections(): void;
  closeAllConnections(): void;
}

/** Takes no more requests, and ends when those that are under way have, or after a while. */
async function endServer(server: EndableServer): Promise<void> {
  const ended = new Promise<void>((resolve) => void server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), STOP_MS);
  await ended;
  clearTimeout(timer);
}
