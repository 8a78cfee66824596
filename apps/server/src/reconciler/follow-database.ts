import type { ReconcileDeps } from "./database-deps.ts";
import { currentOperation, type SeenDatabase, seeDatabase } from "./see-database.ts";

export interface FollowedDatabase extends AsyncDisposable {
  /** Aborts when the database is not what was seen any more: something else was asked for, or its operation was cancelled. */
  readonly signal: AbortSignal;
}

/** Follows a database while something that takes long is done for it. */
export async function followDatabase(
  { db, log, notifications }: Pick<ReconcileDeps, "db" | "log" | "notifications">,
  seen: SeenDatabase,
): Promise<FollowedDatabase> {
  const moved = new AbortController();
  const operation = currentOperation(seen);
  const look = async () => {
    const now = await seeDatabase(db, seen.row.id);
    const isSame =
      now !== undefined &&
      now.row.state === seen.row.state &&
      now.row.generation === seen.row.generation &&
      currentOperation(now)?.id === operation?.id;
    if (!isSame) moved.abort(new Error("Something else is asked for."));
  };
  const lookLogged = () => {
    // the transaction that says what became of it looks as well
    look().catch((error) => log.warn({ err: error, db: seen.row.id }, "a database was not followed"));
  };
  const stops = [
    await notifications.listen("control_databases", (id) => {
      if (id === undefined || id === seen.row.id) lookLogged();
    }),
    await notifications.listen("control_operations", (id) => {
      if (id === undefined || id === operation?.id) lookLogged();
    }),
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
