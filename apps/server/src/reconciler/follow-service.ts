import type { ReconcileDeps } from "./database-deps.ts";
import type { FollowedDatabase } from "./follow-database.ts";
import { currentServiceOperation, type SeenService, seeService } from "./see-service.ts";

/** Follows a service while something that takes long is done for it: it aborts when something else is asked of it or of its database. */
export async function followService(
  { db, log, notifications }: Pick<ReconcileDeps, "db" | "log" | "notifications">,
  seen: SeenService,
): Promise<FollowedDatabase> {
  const moved = new AbortController();
  const was = shapeOf(seen);
  const look = async () => {
    const now = await seeService(db, seen.row.id);
    if (now === undefined || shapeOf(now) !== was) moved.abort(new Error("Something else is asked for."));
  };
  const heard = (databaseId: string | undefined) => {
    if (databaseId !== undefined && databaseId !== seen.database.id) return;
    // the transaction that says what became of it looks as well
    look().catch((error) => log.warn({ err: error, service: seen.row.id }, "a service was not followed"));
  };
  // both tell the database's id
  const stops = [
    await notifications.listen("control_databases", heard),
    await notifications.listen("control_service_routes", heard),
  ];
  // what moved before we listened
  await look();
  return {
    signal: moved.signal,
    async [Symbol.asyncDispose]() {
      for (const stop of stops) stop();
    },
  };
}

/** Whether its database goes, and all that was asked of it. */
function shapeOf(seen: SeenService): string {
  const { database, row } = seen;
  const isGoing = ["STOPPING", "STOPPED", "DELETING", "FAILED", "PROVISIONING"].includes(database.state);
  return JSON.stringify([row.state, row.generation, row.is_pruned, currentServiceOperation(seen)?.id, isGoing]);
}
