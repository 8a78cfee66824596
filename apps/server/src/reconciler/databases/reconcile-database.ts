import { createReconciler, type ReconcilerSpec } from "../core/create-reconciler.ts";
import { chooseDatabaseWork, DATABASES, type DatabaseSnapshot, type DatabaseWork } from "./database-resource.ts";
import { failDatabaseStart } from "./fail-database.ts";
import { removeDatabase } from "./remove-database.ts";
import { runDatabase } from "./run-database.ts";
import { stopDatabase } from "./stop-database.ts";

const HANDLERS: ReconcilerSpec<DatabaseSnapshot, never, Exclude<DatabaseWork, "retry" | "settle">>["handlers"] = {
  run: runDatabase,
  stop: stopDatabase,
  remove: removeDatabase,
};

export const reconcileDatabase = createReconciler({
  resource: DATABASES,
  chooseWork: chooseDatabaseWork,
  handlers: HANDLERS,
  failStart: failDatabaseStart,
});
