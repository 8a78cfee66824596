import { nextServiceState } from "@appdb/contract/control/service-states";
import { sql } from "kysely";
import type { Tx } from "../database/pool.ts";
import { enqueueReconcileService } from "../queue/jobs.ts";
import type { ReconcileDeps } from "./database-deps.ts";
import { type LostPod, sayNext } from "./lose-database.ts";
import { keepPod } from "./pod-rows.ts";
import type { SeenService } from "./see-service.ts";
import { endInstance } from "./service-pods.ts";

/** The workers look only now and then for jobs whose time has come; one that is due they hear of at once. */
const SHORT_MS = 500;

type LoseDeps = Pick<ReconcileDeps, "db" | "log" | "recordEvent">;

/**
 * A service whose pod does not serve any more is STARTING, and a job starts that very instance. False when it is something else by now,
 * or another reconciler saw it first.
 */
export async function loseService(deps: LoseDeps, seen: SeenService, pod: LostPod): Promise<boolean> {
  const { pause_ms: pauseMs, pod_id: podId, reason } = pod;
  const lost = await leaveServing(deps, seen, { event: "lost", reason }, async (tx) => {
    await tx
      .updateTable("control.pods")
      .set({ state: "NOT_READY", reason, memory_bytes: null, restarts: sql<number>`restarts + 1` })
      .where("id", "=", podId)
      .execute();
    await enqueueReconcileService(tx, seen.row.id, pauseMs < SHORT_MS ? 0 : pauseMs / 1_000);
  });
  if (lost)
    deps.log.warn(
      { service: seen.row.id, uri: seen.uri, reason, pause_ms: pauseMs },
      `a service was lost; ${sayNext(pod)}`,
    );
  return lost;
}

/** A service whose pod ended again and again is FAILED, until somebody asks for another try. */
export async function failLostService(
  deps: LoseDeps & Pick<ReconcileDeps, "machine">,
  seen: SeenService,
  { pod_id: podId, reason }: Omit<LostPod, "pause_ms">,
): Promise<boolean> {
  const { observed } = seen.row;
  const failure = {
    code: "pod_failed",
    detail: `The pod of ${seen.uri} ended again and again; the last time ${reason}`,
    hint: `See its log: cli service logs ${seen.uri}   then try again: cli service restart ${seen.uri}`,
  };
  const failed = await leaveServing(deps, seen, { event: "start_failed", reason }, async (tx) => {
    await tx
      .updateTable("control.services")
      .set({ failure: JSON.stringify(failure), observed: null })
      .where("id", "=", seen.row.id)
      .execute();
  });
  if (!failed) return false;
  deps.log.error({ service: seen.row.id, uri: seen.uri, reason }, "a service has failed");
  if (observed !== null) await endInstance(deps, seen.row, observed.instance);
  await keepPod(deps.db, seen.row.database_id, { id: podId, kind: "service", state: "FAILED", reason });
  return true;
}

async function leaveServing(
  { db, recordEvent }: LoseDeps,
  { row, uri }: SeenService,
  { event, reason }: { readonly event: "lost" | "start_failed"; readonly reason: string },
  also: (tx: Tx) => Promise<void>,
): Promise<boolean> {
  // one that is being updated has another instance on its way
  const happened = row.state === "UPDATING" ? "lost" : event;
  const state = nextServiceState(row.state, happened);
  if (state === undefined) throw new Error(`${happened} does not belong to ${row.state}.`);
  return await db.transaction().execute(async (tx) => {
    const changed = await tx
      .updateTable("control.services")
      .set({ state })
      .where("id", "=", row.id)
      .where("state", "=", row.state)
      .where("state", "in", ["AVAILABLE", "UPDATING"])
      .where("generation", "=", row.generation)
      .returning("id")
      .executeTakeFirst();
    if (changed === undefined) return false;
    if (happened === event) await also(tx);
    else await enqueueReconcileService(tx, row.id);
    await recordEvent(tx, {
      action: happened === "lost" ? "service.lost" : "service.fail",
      target: uri,
      actor: "system",
      org_id: row.org_id,
      principal: undefined,
      ip_address: null,
      client: null,
      outcome: "failed",
      detail: { reason },
    });
    return true;
  });
}
