import { requestState } from "../control-plane/databases/state.ts";
import type { DatabaseRow } from "../control-plane/databases/store.ts";
import { startOperation } from "../operations/run-operation.ts";
import { enqueueReconcileDatabase } from "../queue/jobs.ts";
import type { ReconcileDeps } from "./database-deps.ts";

/** Puts a database to sleep that was idle for long enough, as a person would stop it. False when it is something else by now. */
export async function sleepDatabase(
  { db, recordEvent }: Pick<ReconcileDeps, "db" | "recordEvent">,
  database: Pick<DatabaseRow, "id" | "org_id" | "generation"> & { readonly uri: string },
): Promise<boolean> {
  return await db.transaction().execute(async (tx) => {
    const row = await tx
      .selectFrom("control.databases")
      .select(["state", "desired", "generation"])
      .where("id", "=", database.id)
      .forUpdate()
      .executeTakeFirst();
    if (row === undefined || row.state !== "AVAILABLE" || row.generation !== database.generation) return false;
    await tx
      .updateTable("control.databases")
      .set({
        state: requestState(database.uri, row.state, "stop"),
        desired: JSON.stringify({ ...row.desired, is_awake: false }),
        generation: row.generation + 1,
      })
      .where("id", "=", database.id)
      .execute();
    const operation = await startOperation(
      { tx, recordEvent },
      {
        org_id: database.org_id,
        database_id: database.id,
        kind: "database.stop",
        target: database.uri,
        is_cancellable: false,
        actor: "system",
        principal: undefined,
        ip_address: null,
        client: null,
        detail: `it was idle for ${row.desired.settings.sleep_after}`,
      },
    );
    if (operation === undefined) throw new Error("A database that is AVAILABLE is being stopped.");
    await enqueueReconcileDatabase(tx, database.id);
    return true;
  });
}
