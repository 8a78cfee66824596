import { BY_SYSTEM } from "../../audit/event.ts";
import type { DatabaseRow } from "../../control-plane/databases/databases-store.ts";
import { requestState } from "../../control-plane/databases/state.ts";
import { startOperation } from "../../operations/run-operation.ts";
import { enqueueReconcileDatabase } from "../../queue/jobs.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";

const MINUTE_MS = 60_000;
const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: MINUTE_MS, h: 3_600_000, d: 86_400_000 };

/** Stops an idle database, like a person's request. False if its state has changed. */
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
        ...BY_SYSTEM,
        detail: `it was idle for ${row.desired.settings.sleep_after}`,
      },
    );
    if (operation === undefined) throw new Error("A database that is AVAILABLE is being stopped.");
    await enqueueReconcileDatabase(tx, database.id);
    return true;
  });
}

interface AwakeInput {
  /** The setting, such as `15m` or `never`. */
  readonly sleep_after: string;
  /** What keeps it awake, according to its pod. Null if it is idle. */
  readonly busy: string | null;
  /** Time since the last request, by its pod's monotonic clock. */
  readonly idle_ms: number;
}

/** Why a database is awake, for people, and whether its idle time is over. */
export function findAwake(input: AwakeInput): { readonly because: string; readonly is_due: boolean } {
  if (input.busy !== null) return { because: input.busy, is_due: false };
  const afterMs = readSleepAfter(input.sleep_after);
  if (afterMs === undefined) return { because: "it never sleeps automatically", is_due: false };
  const { idle_ms: idleMs } = input;
  const idle = idleMs < MINUTE_MS ? "idle" : `idle ${describeTime(idleMs, Math.floor)}`;
  return {
    because: `${idle}; sleeps in ${describeTime(Math.max(0, afterMs - idleMs), Math.ceil)}`,
    is_due: idleMs >= afterMs,
  };
}

/** Milliseconds; undefined for `never`. */
function readSleepAfter(text: string): number | undefined {
  const [, count, unit = ""] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const unitMs = UNITS_MS[unit];
  return count === undefined || unitMs === undefined ? undefined : Number(count) * unitMs;
}

/** Whole minutes, above two hours whole hours: each change of the text is stored. */
function describeTime(ms: number, round: (value: number) => number): string {
  const minutes = round(ms / MINUTE_MS);
  return minutes < 120 ? `${minutes}m` : `${round(minutes / 60)}h`;
}
