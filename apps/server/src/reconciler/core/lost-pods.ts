import { setTimeout as sleep } from "node:timers/promises";
import { VERSION } from "@appdb/contract/version";
import type { PodExit } from "@appdb/pods/driver/pod-driver";
import type { ProbeAnswer } from "@appdb/pods/driver/pod-keeper";
import { LINK_VERSIONS } from "@appdb/pods/link/link";
import { sql } from "kysely";
import { BY_SYSTEM } from "../../audit/event.ts";
import type { Tx } from "../../database/pool.ts";
import type { OperationError } from "../../operations/run-operation.ts";
import { keepMemoryEnd } from "./pod-rows.ts";
import type { ReconcileDeps } from "./reconcile-deps.ts";
import { type Resource, type ResourceColumns, type Snapshot, stateAfter } from "./resource.ts";

/** Workers poll for jobs that become due, but are notified of a job that is due when added. */
const SHORT_MS = 500;
/** The watch over the pods has seen the end of a pod within this time, with its reason. */
const WATCHED_MS = 1_000;

type LossDeps = Pick<ReconcileDeps, "db" | "log" | "recordEvent">;

/** A resource as read before its pod was lost. */
export interface ServingResource extends Pick<Snapshot, "uri"> {
  readonly row: Pick<Snapshot["row"], "id" | "org_id" | "generation" | "state">;
}

export interface LostPod {
  readonly pod_id: string;
  readonly reason: string;
  /** How its process ended, if the watch over the pods saw it. */
  readonly exit?: PodExit | null;
  /** Pause before the restart. */
  readonly pause_ms: number;
  /** Whether its process is running without answering. */
  readonly is_running?: boolean;
  /** Whether the server ended it, to start one of its own version. */
  readonly is_replaced?: boolean;
}

/** What happens to a lost pod next, for the log. */
export function describeNext({ is_running: isRunning }: LostPod): string {
  return isRunning === true ? "its pod is running, and will be ended if it stays silent" : "its pod will be restarted";
}

/**
 * Marks a resource as STARTING because its pod does not answer, and adds the job that starts it. Returns false when the resource changed,
 * or another reconciler marked it first.
 */
export async function markPodLost<S extends Snapshot, Event extends string>(
  resource: Resource<S, Event>,
  deps: LossDeps,
  serving: ServingResource,
  pod: LostPod,
): Promise<boolean> {
  const { pause_ms: pauseMs, pod_id: podId, reason } = pod;
  const { id } = serving.row;
  const isLost = await recordLossWhileServing(
    resource,
    deps,
    serving,
    { event: "lost", reason, set: {} },
    async (tx) => {
      await tx
        .updateTable("control.pods")
        .set({ state: "NOT_READY", reason, memory_bytes: null, restarts: sql<number>`restarts + 1` })
        .where("id", "=", podId)
        .execute();
      await keepMemoryEnd(tx, podId, pod.exit);
      await resource.enqueue(tx, id, pauseMs < SHORT_MS ? 0 : pauseMs / 1_000);
    },
  );
  if (isLost) {
    const fields = { [resource.log_key]: id, uri: serving.uri, reason, pause_ms: pauseMs };
    if (pod.is_replaced === true) deps.log.info(fields, `the pod of a ${resource.kind} is replaced`);
    else deps.log.warn(fields, `a ${resource.kind} was lost; ${describeNext(pod)}`);
  }
  return isLost;
}

/**
 * Marks a resource as FAILED because its pod ended repeatedly, until someone asks for another start. Returns whether it did. One that is
 * being updated is STARTING instead: its next instance is on its way.
 */
export async function markFailedByLosses<S extends Snapshot, Event extends string>(
  resource: Resource<S, Event>,
  deps: LossDeps,
  serving: ServingResource,
  { reason }: Pick<LostPod, "reason">,
  failed: { readonly failure: OperationError; readonly set?: ResourceColumns; also?(tx: Tx): Promise<void> },
): Promise<boolean> {
  const { row, uri } = serving;
  const set = { ...failed.set, failure: JSON.stringify(failed.failure), retry_at: null };
  const hasLeft = await recordLossWhileServing(
    resource,
    deps,
    serving,
    { event: "start_failed", reason, set },
    async (tx) => {
      await failed.also?.(tx);
    },
  );
  if (hasLeft) deps.log.error({ [resource.log_key]: row.id, uri, reason }, `a ${resource.kind} has failed`);
  return hasLeft;
}

/**
 * Marks resources without a running pod as lost. Running pods have their own watch, which goes first once it runs.
 * Returns how many it marked.
 */
export async function markMissingPodsLost<S extends Snapshot, Event extends string>(
  resource: Resource<S, Event>,
  deps: LossDeps & Pick<ReconcileDeps, "machine">,
  serving: readonly { readonly id: string; readonly generation: number; readonly pod_id: string }[],
  { podOf, when }: { podOf(snapshot: S): string; readonly when: "at the start" | "meanwhile" },
): Promise<number> {
  if (serving.length === 0) return 0;
  const listRunning = async () => {
    const pods = await deps.machine.driver.list({ kind: resource.kind });
    return new Set(pods.filter(({ state }) => state === "running").map(({ id }) => id));
  };
  let running = await listRunning();
  if (when === "meanwhile" && serving.some(({ pod_id: podId }) => !running.has(podId))) {
    await sleep(WATCHED_MS);
    running = await listRunning();
  }
  let lost = 0;
  for (const { generation, id, pod_id: podId } of serving) {
    if (running.has(podId)) continue;
    const snapshot = await resource.loadSnapshot(deps.db, id);
    // another instance may have taken over meanwhile
    if (snapshot?.row.generation !== generation || podOf(snapshot) !== podId) continue;
    if (await markPodLost(resource, deps, snapshot, { pod_id: podId, reason: "its pod does not exist", pause_ms: 0 }))
      lost += 1;
  }
  return lost;
}

/**
 * Marks a resource as lost whose pod ended between its first answer and the record that it serves. The watch over the pods
 * takes such an end for a part of the start, and does not report it again.
 */
export async function markEndedAtStart<S extends Snapshot, Event extends string>(
  resource: Resource<S, Event>,
  deps: LossDeps & Pick<ReconcileDeps, "machine">,
  { id, pod_id: podId }: { readonly id: string; readonly pod_id: string },
  podOf: (snapshot: S) => string,
): Promise<void> {
  const found = await deps.machine.driver.inspect(podId);
  if (found?.state === "running") return;
  const snapshot = await resource.loadSnapshot(deps.db, id);
  // a later operation may have begun, or have ended
  if (snapshot?.row.state !== "AVAILABLE" || podOf(snapshot) !== podId) return;
  await markPodLost(resource, deps, snapshot, { pod_id: podId, reason: "its pod ended as it started", pause_ms: 0 });
}

interface JudgedHealth {
  readonly state: string;
  readonly version: string;
  /** Undefined for a pod without a link. */
  readonly link_versions?: readonly number[];
}

/**
 * Judges a pod's answer to a health check. A pod of another version, or without a common version of the link, is
 * stopped.
 */
export async function judgeHealth(
  { log, machine }: Pick<ReconcileDeps, "log" | "machine">,
  podId: string,
  health: JudgedHealth | undefined,
  graceMs: number,
): Promise<ProbeAnswer> {
  if (health === undefined) return "silent";
  const { link_versions: linkVersions = LINK_VERSIONS, version } = health;
  if (version !== VERSION || !LINK_VERSIONS.some((supported) => linkVersions.includes(supported))) {
    log.info({ pod: podId, version, link_versions: linkVersions }, "restarting a pod of another version");
    await machine.driver.stop(podId, graceMs);
    return "replaced";
  }
  return health.state === "ready" ? "ready" : "starting";
}

async function recordLossWhileServing<S extends Snapshot, Event extends string>(
  resource: Resource<S, Event>,
  { db, recordEvent }: LossDeps,
  { row, uri }: ServingResource,
  change: { readonly event: "lost" | "start_failed"; readonly reason: string; readonly set: ResourceColumns },
  also: (tx: Tx) => Promise<void>,
): Promise<boolean> {
  if (row.state !== "AVAILABLE" && row.state !== "UPDATING") return false;
  // an update has another instance on its way
  const event = row.state === "UPDATING" ? "lost" : change.event;
  const set = event === change.event ? change.set : {};
  const state = stateAfter(resource, row.state, event);
  return await db.transaction().execute(async (tx) => {
    const changed = await tx
      .updateTable(resource.table)
      .set({ ...resource.not_serving, ...set, state })
      .where("id", "=", row.id)
      .where("state", "=", row.state)
      .where("generation", "=", row.generation)
      .returning("id")
      .executeTakeFirst();
    if (changed === undefined) return false;
    if (event === change.event) await also(tx);
    else await resource.enqueue(tx, row.id);
    await recordEvent(tx, {
      action: event === "lost" ? `${resource.kind}.lost` : `${resource.kind}.fail`,
      target: uri,
      org_id: row.org_id,
      ...BY_SYSTEM,
      outcome: "failed",
      detail: { reason: change.reason },
    });
    return true;
  });
}
