import { describeExit } from "@appdb/adapters/pods/loss-policy";
import type { PodSpec } from "@appdb/adapters/pods/pod-driver";
import type { Tx } from "../database/pool.ts";
import { needsBuild, startBuild } from "./build-image.ts";
import { begin, changeDatabase, commit } from "./change-database.ts";
import type { ReconcileDeps } from "./database-deps.ts";
import { failStart, failUpdate } from "./fail-start.ts";
import { keepPod, STOP_GRACE_MS } from "./pod-rows.ts";
import { preparePod } from "./prepare-pod.ts";
import type { WorkOutcome } from "./reconcile-database.ts";
import { isCancelledCreation, needsRestart, type SeenDatabase, wantedOf } from "./see-database.ts";
import { wakeServices } from "./services-of-database.ts";
import { waitReady } from "./wait-ready.ts";

/** Has the pod run what it is to run, with the image and the files that belong to it, and says so once it answers. */
export async function runDatabase(deps: ReconcileDeps, seen: SeenDatabase, signal: AbortSignal): Promise<WorkOutcome> {
  const { machine } = deps;
  const { row } = seen;
  const done = deps.reconcileStepDone ?? (async () => undefined);
  if (isCancelledCreation(seen)) return await failStart(deps, seen, cancelledCreation(seen.uri), signal);
  if (!(await begin(deps, seen))) return "moved";
  await done("begun");
  const wanted = wantedOf(seen);
  if (await needsBuild(deps, seen, wanted)) return await startBuild(deps, seen);
  const pod = await preparePod(deps, seen, wanted, signal);
  if ("code" in pod) {
    // one that runs was not touched yet, and goes on as it is
    return row.state === "UPDATING" ? await failUpdate(deps, seen, pod) : await failStart(deps, seen, pod, signal);
  }
  await done("prepared");
  if (!(await commit(deps, seen))) return "moved";
  await done("committed");
  const { spec, token } = pod;
  if (needsRestart(row.observed, wanted)) {
    await machine.driver.stop(spec.id, STOP_GRACE_MS);
    await done("pod_stopped");
  }
  await startPod(deps, seen, spec, signal);
  // their pods start beside it, and find PostgreSQL when it is there
  if (row.state === "STARTING") await wakeServices(deps.db, row.id);
  await done("pod_started");
  const status = await waitReady(machine, { spec, token, socket: pod.socket }, signal);
  await done("pod_ready");
  await changeDatabase(deps, seen, {
    event: "ready",
    end: { state: "succeeded" },
    set: {
      observed: JSON.stringify(wanted),
      observed_generation: isAllOf(seen, wanted) ? row.generation : row.observed_generation,
      failure: null,
      failed_starts: 0,
      awake_because: "just started",
      last_used_at: new Date(),
      // from now on its tables may be made from others
      needed_trees: null,
    },
    also: async (tx) => {
      await keepPod(tx, row.id, {
        id: spec.id,
        kind: "database",
        state: "READY",
        started_at: status.started_at,
        reason: null,
      });
      await wakeServices(tx, row.id);
      if (seen.open.length === 0) await recordRecovery(deps, tx, seen);
    },
  });
  await done("ended");
  return "moved";
}

/** One that runs is left alone, whatever it was told: secrets that changed meanwhile reach it when it is restarted. */
async function startPod(
  { db, machine }: ReconcileDeps,
  { row }: SeenDatabase,
  spec: PodSpec,
  signal: AbortSignal,
): Promise<void> {
  const before = await machine.driver.inspect(spec.id);
  if (before?.state === "running") return;
  const { started_at: startedAt } = await machine.driver.ensure(spec, signal);
  const reason = before === undefined ? null : `started again: ${describeExit(before.exit)}`;
  await keepPod(db, row.id, { id: spec.id, kind: "database", state: "STARTING", started_at: startedAt, reason });
}

/** Whether nothing of what was asked for is left to do. */
function isAllOf({ row }: SeenDatabase, wanted: ReturnType<typeof wantedOf>): boolean {
  const { is_awake: _, ...desired } = row.desired;
  return JSON.stringify(desired) === JSON.stringify(wanted);
}

function cancelledCreation(uri: string) {
  return {
    code: "operation_cancelled",
    detail: `The operation that made ${uri} was cancelled before it had run.`,
    hint: `Go on with it: cli db build-image ${uri}   or remove it: cli db delete ${uri}`,
  };
}

/** Nobody asked for this start: what was lost is back. */
async function recordRecovery({ recordEvent }: ReconcileDeps, tx: Tx, { row, uri }: SeenDatabase): Promise<void> {
  await recordEvent(tx, {
    action: "database.recover",
    target: uri,
    org_id: row.org_id,
    actor: "system",
    principal: undefined,
    ip_address: null,
    client: null,
    outcome: "succeeded",
  });
}
