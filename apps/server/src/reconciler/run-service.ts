import { describeExit } from "@appdb/adapters/pods/loss-policy";
import { markServed } from "../control-plane/services/releases.ts";
import type { Tx } from "../database/pool.ts";
import type { ObservedService } from "../database/service-tables.ts";
import { beginService, changeService, isServiceAsSeen } from "./change-service.ts";
import type { ReconcileDeps } from "./database-deps.ts";
import { keepPod } from "./pod-rows.ts";
import { type PreparedService, prepareService } from "./prepare-service.ts";
import { reachDatabase } from "./reach-database.ts";
import type { WorkOutcome } from "./reconcile-database.ts";
import { needsInstance, type SeenService, wantedServiceOf } from "./see-service.ts";
import { endNewInstances } from "./stop-service.ts";
import { waitService } from "./wait-service.ts";
import { keyedDatabaseOf } from "./watch-services.ts";

/**
 * Has an instance of a service run what it shall. One that serves meanwhile goes on until the other one does: then requests are given to
 * that by one statement. An instance that was lost is started again as it was.
 */
export async function runService(deps: ReconcileDeps, seen: SeenService, signal: AbortSignal): Promise<WorkOutcome> {
  const { machine } = deps;
  const { row } = seen;
  const done = deps.reconcileStepDone ?? (async () => undefined);
  if (!(await beginService(deps, seen))) return "moved";
  await done("service begun");
  const instance = await openInstance(deps, seen);
  if (instance === undefined) return "moved";
  const prepared = await prepareService(deps, seen, instance, signal);
  await done("service prepared");
  await startPod(deps, seen, prepared, signal);
  await done("service pod_started");
  await reachDatabase(deps, seen, prepared, signal);
  const status = await waitService(machine, prepared, signal);
  await done("service pod_ready");
  // of its start; whoever was taken a key since then is not to be served
  await deps.service_keys.push(keyedDatabaseOf(seen), prepared.door);
  const observed: ObservedService = { ...wantedServiceOf(seen), instance };
  await changeService(deps, seen, {
    event: "ready",
    end: { state: "succeeded" },
    set: { observed: JSON.stringify(observed), observed_generation: row.generation, failure: null, failed_starts: 0 },
    also: async (tx) => {
      const { id } = prepared.spec;
      const pod = { id, kind: "service", state: "READY", started_at: status.started_at, reason: null } as const;
      await keepPod(tx, row.database_id, pod);
      await markServed(tx, row.id, observed.release);
      if (seen.open.length === 0) await recordRecovery(deps, tx, seen);
    },
  });
  await done("service switched");
  return "moved";
}

/** The instance that is to be started: a new one, or the very one that was lost. Undefined when something else is asked for by now. */
async function openInstance(deps: ReconcileDeps, seen: SeenService): Promise<number | undefined> {
  const { observed, id } = seen.row;
  if (observed !== null && !needsInstance(seen)) return observed.instance;
  // of a start that was interrupted, or is not wanted any more
  await endNewInstances(deps, seen);
  return await deps.db.transaction().execute(async (tx) => {
    if (!(await isServiceAsSeen(tx, seen))) return undefined;
    const { instance } = await tx
      .updateTable("control.services")
      .set(({ eb }) => ({ instance: eb("instance", "+", 1) }))
      .where("id", "=", id)
      .returning("instance")
      .executeTakeFirstOrThrow();
    return instance;
  });
}

/** One that runs is left alone, whatever it was told. */
async function startPod(
  { db, machine }: ReconcileDeps,
  { row }: SeenService,
  { spec }: PreparedService,
  signal: AbortSignal,
): Promise<void> {
  const before = await machine.driver.inspect(spec.id);
  if (before?.state === "running") return;
  const { started_at: startedAt } = await machine.driver.ensure(spec, signal);
  const reason = before === undefined ? null : `started again: ${describeExit(before.exit)}`;
  await keepPod(db, row.database_id, {
    id: spec.id,
    kind: "service",
    state: "STARTING",
    started_at: startedAt,
    reason,
  });
}

/** Nobody asked for this start: what was lost, or slept, is back. */
async function recordRecovery({ recordEvent }: ReconcileDeps, tx: Tx, { row, uri }: SeenService): Promise<void> {
  await recordEvent(tx, {
    action: "service.recover",
    target: uri,
    org_id: row.org_id,
    actor: "system",
    principal: undefined,
    ip_address: null,
    client: null,
    outcome: "succeeded",
  });
}
