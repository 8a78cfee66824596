import { AppError } from "@appdb/contract/errors";
import type { DatabaseState } from "@appdb/contract/routes/control-databases";
import { parseServicePodId } from "../../pods/service-paths.ts";
import { enqueueReconcileService } from "../../queue/jobs.ts";
import { createReconciler, type Outcome, type ReconcilerSpec } from "../core/create-reconciler.ts";
import { failStart } from "../core/failed-starts.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import { applyChange } from "../core/resource.ts";
import { SERVICE_STARTS } from "./fail-service.ts";
import { runService } from "./run-service.ts";
import { endServicePod } from "./service-pods.ts";
import { IS_UP, SERVICES, type ServiceSnapshot } from "./service-resource.ts";
import { endInstances, removeService, sleepService, stopService, tidyService } from "./stop-service.ts";

/** Pause before an unreachable database is asked again. A lost database notifies when it returns. */
const UNREACHED_S = 1;

type ServiceWork = "run" | "retry" | "settle" | "wake" | "tidy" | "stop" | "sleep" | "remove";

const HANDLERS: ReconcilerSpec<ServiceSnapshot, never, Exclude<ServiceWork, "retry" | "settle">>["handlers"] = {
  run: runService,
  wake,
  tidy: tidyService,
  stop: stopService,
  sleep: sleepService,
  remove: removeService,
};

export const reconcileService = createReconciler({
  resource: SERVICES,
  chooseWork: chooseServiceWork,
  handlers: HANDLERS,
  failStart: (deps, snapshot, failure, signal) => failStart(SERVICES, SERVICE_STARTS, deps, snapshot, failure, signal),
  postpone: waitForDatabase,
  onDeleted: endDeletedService,
  async onIdle(deps, snapshot) {
    // pods of an abandoned start
    if (snapshot.row.state === "STOPPED") await endInstances(deps, snapshot);
  },
});

/** States of a database in which stopped services start with it. */
const STARTS_SERVICES: readonly DatabaseState[] = ["AVAILABLE", "STARTING"];

/** The next work. Undefined if the service matches its desired state. */
function chooseServiceWork(snapshot: ServiceSnapshot): ServiceWork | undefined {
  const { database, open, row } = snapshot;
  if (row.is_pruned) return "remove";
  const isUp = IS_UP.includes(database.state);
  switch (row.state) {
    case "DEPLOYING":
    case "STARTING":
    case "UPDATING":
      return isUp ? "run" : "sleep";
    case "STOPPING":
      return "stop";
    case "STOPPED":
      if (open.length > 0) return isUp ? "stop" : "sleep";
      return STARTS_SERVICES.includes(database.state) && row.desired.is_running ? "wake" : undefined;
    case "AVAILABLE":
      if (!isUp) return "sleep";
      return open.length > 0 ? "settle" : "tidy";
    case "FAILED":
      if (open.length > 0) return "settle";
      return snapshot.is_retry_due === true && database.state === "AVAILABLE" ? "retry" : undefined;
  }
}

/** A starting database enqueues its services when it is ready. */
async function waitForDatabase(
  { db }: ReconcileDeps,
  { database, row }: ServiceSnapshot,
  error: unknown,
): Promise<boolean> {
  if (!(error instanceof AppError) || error.code !== "database_not_reached") return false;
  if (database.state === "AVAILABLE") await enqueueReconcileService(db, row.id, UNREACHED_S);
  return true;
}

async function wake(deps: ReconcileDeps, snapshot: ServiceSnapshot): Promise<Outcome> {
  await applyChange(SERVICES, deps, snapshot, { event: "woken" });
  return "moved";
}

/** Ends what was started for a service whose database was deleted meanwhile. */
async function endDeletedService({ machine }: ReconcileDeps, serviceId: string): Promise<void> {
  for (const { id, labels } of await machine.driver.list({ kind: "service" })) {
    const pod = parseServicePodId(id);
    if (pod?.service_id !== serviceId) continue;
    await endServicePod({ machine }, { id: serviceId, database_id: labels.database_id }, pod.instance);
  }
}
