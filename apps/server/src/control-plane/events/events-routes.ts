import type { ControlDatabase } from "../../database/pool.ts";
import type { ControlRoutes } from "../../requests/checked-route.ts";
import type { EventStreams } from "./event-stream.ts";
import { listEvents } from "./events-store.ts";

export function addEventRoutes(
  routes: ControlRoutes,
  deps: { readonly db: ControlDatabase; readonly streams: EventStreams },
): void {
  routes.add("eventList", async ({ org, query, request, reply }) => {
    if (request.headers.accept?.includes("text/event-stream") !== true) return listEvents(deps.db, org.id, query);
    await deps.streams.serve(request, reply, org.id);
    return undefined;
  });
}
