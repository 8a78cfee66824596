import { AppError } from "@appdb/contract/errors";
import { databasePod } from "../../pods/database-paths.ts";
import type { PodAddress } from "../../pods/fetch-pod.ts";
import { explainFailedStart } from "../../storage/start-space.ts";
import type { Outcome } from "../core/create-reconciler.ts";
import { markEndedAtStart } from "../core/lost-pods.ts";
import { STOP_GRACE_MS, upsertPodRow } from "../core/pod-rows.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import { applyChange, begin, currentOperation } from "../core/resource.ts";
import { type ReadyPolicy, recordRecovery, startPod, waitReady } from "../core/start-pod.ts";
import { renewServices, wakeServices } from "../services/services-of-database.ts";
import { needsBuild, startBuild } from "./build-image.ts";
import {
  DATABASES,
  type DatabaseSnapshot,
  desiredSpec,
  hasOtherPods,
  isCancelledCreation,
  needsRestart,
} from "./database-resource.ts";
import { failDatabaseStart, failUpdate } from "./fail-database.ts";
import { preparePod } from "./prepare-pod.ts";

const NOT_SERVED = "a database has no pod until its image is built: its current image does not start";
const RETRY_HINT = "See its log: cli db logs <db_uri>   then try again: cli db retry <db_uri>";

const READY: ReadyPolicy = {
  pod: "The database's pod",
  verb: "answer",
  silent_ms: 20_000,
  // PostgreSQL replays its log after a crash, and a large cluster is copied before an upgrade
  starting_ms: 3_600_000,
  memory: (memoryMb) => `it needed more than its ${memoryMb} MB of memory`,
  hints: {
    memory: "Give it more memory_mb in its entry of service.toml, then: cli db build-image <db_uri>",
    ended: RETRY_HINT,
    silent: RETRY_HINT,
  },
  last_lines: 5,
  tellLast: (lines) => (lines.length === 0 ? "" : ` It said last: ${lines.join(" | ")}`),
};

/** Starts the pod with its image and files, waits until it answers, and records what it runs. */
export async function runDatabase(
  deps: ReconcileDeps,
  snapshot: DatabaseSnapshot,
  signal: AbortSignal,
): Promise<Outcome> {
  const { machine } = deps;
  const { row } = snapshot;
  const tellDisk = async (error: unknown): Promise<never> => {
    throw await explainFailedStart(deps, error);
  };
  const done = deps.reconcileStepDone ?? (async () => undefined);
  if (isCancelledCreation(snapshot))
    return await failDatabaseStart(deps, snapshot, cancelledCreation(snapshot.uri), signal);
  if (!(await begin(DATABASES, deps, snapshot))) return "moved";
  await done("begun");
  const desired = desiredSpec(snapshot);
  if (await needsBuild(deps, snapshot, desired)) {
    const outcome = await startBuild(deps, snapshot);
    await servePreviousImage(deps, snapshot, signal);
    return outcome;
  }
  const pod = await preparePod(deps, snapshot, desired, signal);
  if ("code" in pod) {
    // the running pod was not changed yet
    return row.state === "UPDATING"
      ? await failUpdate(deps, snapshot, pod)
      : await failDatabaseStart(deps, snapshot, pod, signal);
  }
  await done("prepared");
  if (!(await commit(deps, snapshot))) return "moved";
  await done("committed");
  const { address, spec } = pod;
  if (needsRestart(row.observed, desired)) {
    await machine.driver.stop(spec.id, STOP_GRACE_MS);
    await done("pod_stopped");
  }
  await startPod(deps, { kind: "database", database_id: row.id }, spec, signal).catch(tellDisk);
  // their pods start concurrently, and connect once PostgreSQL runs
  if (row.state === "STARTING") await wakeServices(deps.db, row.id);
  await done("pod_started");
  const status = await waitReady(machine, spec, READY, () => machine.askHealth(address), signal).catch(tellDisk);
  await tellTree(deps, row.id, address, desired.tree);
  await done("pod_ready");
  const isWhole = isWholeDesiredState(snapshot, desired);
  await applyChange(DATABASES, deps, snapshot, {
    event: "ready",
    end: { state: "succeeded" },
    set: {
      observed: JSON.stringify(desired),
      observed_generation: isWhole ? row.generation : row.observed_generation,
      // an update that needed no build replaced the one that failed
      ...(isWhole && row.last_build?.state === "failed" ? { last_build: null } : {}),
      failure: null,
      failed_starts: 0,
      awake_because: "just started",
      last_used_at: new Date(),
      // from now on its tables may need other trees
      needed_trees: null,
    },
    also: async (tx) => {
      await upsertPodRow(tx, row.id, {
        id: spec.id,
        kind: "database",
        state: "READY",
        started_at: status.started_at,
        reason: null,
      });
      if (hasOtherPods(row.observed, desired)) await renewServices(tx, row.id);
      await wakeServices(tx, row.id);
      await recordRecovery(deps, tx, "database", snapshot);
    },
  });
  await markEndedAtStart(DATABASES, deps, { id: row.id, pod_id: spec.id }, () => spec.id);
  await done("ended");
  return "moved";
}

/**
 * Starts the pod of an updated database with its current image, if the pod ended before or during the build, for example
 * with the previous server. A failure is logged: the build continues, and its end starts the pod too.
 */
async function servePreviousImage(deps: ReconcileDeps, snapshot: DatabaseSnapshot, signal: AbortSignal): Promise<void> {
  const { log, machine } = deps;
  const { id, observed, state } = snapshot.row;
  if (state !== "UPDATING" || observed === null) return;
  if ((await machine.driver.inspect(databasePod(id).id))?.state === "running") return;
  const pod = await preparePod(deps, snapshot, observed, signal);
  if ("code" in pod) {
    log.warn({ db: id, code: pod.code, reason: pod.detail }, NOT_SERVED);
    return;
  }
  const { address, spec } = pod;
  try {
    await startPod(deps, { kind: "database", database_id: id }, spec, signal);
    const status = await waitReady(machine, spec, READY, () => machine.askHealth(address), signal);
    const ready = {
      id: spec.id,
      kind: "database",
      state: "READY",
      started_at: status.started_at,
      reason: null,
    } as const;
    await upsertPodRow(deps.db, id, ready);
    await wakeServices(deps.db, id);
    log.info({ db: id, uri: snapshot.uri }, "a database runs its current image until the next one is built");
  } catch (error) {
    if (signal.aborted || !(error instanceof AppError)) throw error;
    log.warn({ db: id, code: error.code, reason: error.message }, NOT_SERVED);
  }
}

/** Without an answer, tables without project files keep waiting for them: the next update or start tells the pod again. */
async function tellTree(
  { log, machine }: ReconcileDeps,
  databaseId: string,
  address: PodAddress,
  tree: string | null,
): Promise<void> {
  if (tree === null || (await machine.useTree(address, tree))) return;
  log.warn({ db: databaseId }, "a database was not told its project files");
}

/** Makes the operation uncancellable. Returns false if it was cancelled. */
async function commit({ db }: Pick<ReconcileDeps, "db">, snapshot: DatabaseSnapshot): Promise<boolean> {
  const operation = currentOperation(snapshot);
  if (operation === undefined) return true;
  const kept = await db
    .updateTable("control.operations")
    .set({ is_cancellable: false })
    .where("id", "=", operation.id)
    .where("state", "=", "running")
    .executeTakeFirst();
  return kept.numUpdatedRows > 0n;
}

/** Whether this is the complete desired state. */
function isWholeDesiredState({ row }: DatabaseSnapshot, spec: ReturnType<typeof desiredSpec>): boolean {
  const { is_awake: _, ...desired } = row.desired;
  return JSON.stringify(desired) === JSON.stringify(spec);
}

function cancelledCreation(uri: string) {
  return {
    code: "operation_cancelled",
    detail: `The operation that created ${uri} was cancelled before the database ran.`,
    hint: `To continue, build it: cli db build-image ${uri}   or delete it: cli db delete ${uri}`,
  };
}
