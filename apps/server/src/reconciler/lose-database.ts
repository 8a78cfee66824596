import { nextState } from "@appdb/contract/control/database-states";
import { sql } from "kysely";
import type { DatabaseRow } from "../control-plane/databases/store.ts";
import type { Tx } from "../database/pool.ts";
import { enqueueReconcileDatabase } from "../queue/jobs.ts";
import type { ReconcileDeps } from "./database-deps.ts";
import { keepPod, STOP_GRACE_MS } from "./pod-rows.ts";
import { endServicePods } from "./service-pods.ts";
import { leaveServicesStopped } from "./services-of-database.ts";

/** The workers look only now and then for jobs whose time has come; one that is due they hear of at once. */
const SHORT_MS = 500;

export type LosableDatabase = Pick<DatabaseRow, "id" | "org_id" | "generation"> & { readonly uri: string };
type LoseDeps = Pick<ReconcileDeps, "db" | "log" | "recordEvent">;

export interface LostPod {
  readonly pod_id: string;
  readonly reason: string;
  /** Before it is started again. */
  readonly pause_ms: number;
  /** Its process runs, though it serves nobody. */
  readonly is_running?: boolean;
}

/** What becomes of a lost pod, for the log. */
export function sayNext({ is_running: isRunning }: LostPod): string {
  return isRunning === true ? "its pod runs, and is ended if it stays silent" : "its pod is started again";
}

/**
 * A database whose pod does not answer any more is not AVAILABLE: it is STARTING, and a job starts it. False when it is something else
 * by now, or another reconciler saw it first.
 */
export async function loseDatabase(deps: LoseDeps, database: LosableDatabase, pod: LostPod): Promise<boolean> {
  const { pause_ms: pauseMs, pod_id: podId, reason } = pod;
  const lost = await leaveAvailable(deps, database, { event: "lost", reason }, async (tx) => {
    await tx
      .updateTable("control.pods")
      .set({ state: "NOT_READY", reason, memory_bytes: null, restarts: sql<number>`restarts + 1` })
      .where("id", "=", podId)
      .execute();
    await enqueueReconcileDatabase(tx, database.id, pauseMs < SHORT_MS ? 0 : pauseMs / 1_000);
  });
  if (lost)
    deps.log.warn(
      { db: database.id, uri: database.uri, reason, pause_ms: pauseMs },
      `a database was lost; ${sayNext(pod)}`,
    );
  return lost;
}

/** A database whose pod ended again and again is FAILED, until somebody asks for another try. */
export async function failLost(
  deps: LoseDeps & Pick<ReconcileDeps, "machine">,
  database: LosableDatabase,
  { pod_id: podId, reason }: Omit<LostPod, "pause_ms">,
): Promise<boolean> {
  const failure = {
    code: "pod_failed",
    detail: `The database's pod ended again and again; the last time ${reason}`,
    hint: `See its log: cli db logs ${database.uri}   then try again: cli db retry ${database.uri}`,
  };
  const failed = await leaveAvailable(deps, database, { event: "start_failed", reason }, async (tx) => {
    await tx
      .updateTable("control.databases")
      .set({ failure: JSON.stringify(failure), retry_at: null })
      .where("id", "=", database.id)
      .execute();
    await leaveServicesStopped(tx, database.id);
    await keepPod(tx, database.id, { id: podId, kind: "database", state: "FAILED", reason });
  });
  if (!failed) return false;
  deps.log.error({ db: database.id, uri: database.uri, reason }, "a database has failed");
  await endServicePods(deps, database.id);
  await deps.machine.driver.stop(podId, STOP_GRACE_MS);
  await deps.machine.driver.forget(podId);
  return true;
}

async function leaveAvailable(
  { db, recordEvent }: LoseDeps,
  database: LosableDatabase,
  { event, reason }: { readonly event: "lost" | "start_failed"; readonly reason: string },
  also: (tx: Tx) => Promise<void>,
): Promise<boolean> {
  const state = nextState("AVAILABLE", event);
  if (state === undefined) throw new Error(`${event} does not belong to AVAILABLE.`);
  return await db.transaction().execute(async (tx) => {
    const row = await tx
      .updateTable("control.databases")
      .set({ state, awake_because: null })
      .where("id", "=", database.id)
      .where("state", "=", "AVAILABLE")
      .where("generation", "=", database.generation)
      .returning("id")
      .executeTakeFirst();
    if (row === undefined) return false;
    await also(tx);
    await recordEvent(tx, {
      action: event === "lost" ? "database.lost" : "database.fail",
      target: database.uri,
      actor: "system",
      org_id: database.org_id,
      principal: undefined,
      ip_address: null,
      client: null,
      outcome: "failed",
      detail: { reason },
    });
    return true;
  });
}
