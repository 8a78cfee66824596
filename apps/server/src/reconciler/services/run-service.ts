import { markServed } from "../../control-plane/services/releases.ts";
import type { ObservedService } from "../../database/service-tables.ts";
import { servicePodId } from "../../pods/service-paths.ts";
import { explainFailedStart } from "../../storage/start-space.ts";
import type { Outcome } from "../core/create-reconciler.ts";
import { markEndedAtStart } from "../core/lost-pods.ts";
import { upsertPodRow } from "../core/pod-rows.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import { applyChange, begin, isUnchanged } from "../core/resource.ts";
import { type ReadyPolicy, recordRecovery, startPod, waitReady } from "../core/start-pod.ts";
import { prepareService } from "./prepare-service.ts";
import { reachDatabase } from "./reach-database.ts";
import {
  desiredServiceSpec,
  keyedDatabaseOf,
  needsInstance,
  SERVICES,
  type ServiceSnapshot,
} from "./service-resource.ts";
import { endNewInstances } from "./stop-service.ts";

/** Importing an application's libraries takes seconds. */
const START_MS = 60_000;
const LAST_LINES = 40;
/** The instance that serves writes lines of requests into the same log. */
const OF_REQUESTS = /^request \{/;

const READY: ReadyPolicy = {
  pod: "The pod of <service_uri>",
  verb: "serve",
  silent_ms: START_MS,
  starting_ms: START_MS,
  memory: (memoryMb) => `it needed more than the ${memoryMb} MB of memory that its database has`,
  hints: {
    memory: "Give the database more memory_mb in its entry of service.toml, then: cli db update",
    ended: "Fix the error in its last lines, then deploy it: cli deploy <app_file> <target>",
    silent: "See its log: cli service logs <service_uri>",
  },
  last_lines: 2_000,
  tellLast(lines) {
    const words = lines.filter((line) => !OF_REQUESTS.test(line)).slice(-LAST_LINES);
    return words.length === 0 ? "" : ` It said last:\n${words.map((line) => `  ${line}`).join("\n")}`;
  },
};

/**
 * Starts the desired instance of a service. The previous instance serves until the new one is ready. One statement then
 * redirects the requests. A lost instance is restarted unchanged.
 */
export async function runService(
  deps: ReconcileDeps,
  snapshot: ServiceSnapshot,
  signal: AbortSignal,
): Promise<Outcome> {
  const { machine } = deps;
  const { row } = snapshot;
  const done = deps.reconcileStepDone ?? (async () => undefined);
  if (!(await begin(SERVICES, deps, snapshot))) return "moved";
  await done("service begun");
  const instance = await openInstance(deps, snapshot);
  if (instance === undefined) return "moved";
  const prepared = await prepareService(deps, snapshot, instance, signal);
  await done("service prepared");
  const tellDisk = async (error: unknown): Promise<never> => {
    throw await explainFailedStart(deps, error, "service");
  };
  await startPod(deps, { kind: "service", database_id: row.database_id }, prepared.spec, signal).catch(tellDisk);
  await done("service pod_started");
  await reachDatabase(deps, snapshot, prepared, signal);
  const ask = () => machine.askService(prepared.address);
  const status = await waitReady(machine, prepared.spec, READY, ask, signal).catch(tellDisk);
  await done("service pod_ready");
  // a key of its start may have been revoked since
  await deps.service_keys.push(keyedDatabaseOf(snapshot), prepared.address);
  const observed: ObservedService = { ...desiredServiceSpec(snapshot), instance };
  await applyChange(SERVICES, deps, snapshot, {
    event: "ready",
    end: { state: "succeeded" },
    set: { observed: JSON.stringify(observed), observed_generation: row.generation, failure: null, failed_starts: 0 },
    also: async (tx) => {
      const { id } = prepared.spec;
      const pod = { id, kind: "service", state: "READY", started_at: status.started_at, reason: null } as const;
      await upsertPodRow(tx, row.database_id, pod);
      await markServed(tx, row.id, observed.release);
      await recordRecovery(deps, tx, "service", snapshot);
    },
  });
  const { id: podId } = prepared.spec;
  await markEndedAtStart(SERVICES, deps, { id: row.id, pod_id: podId }, (now) =>
    servicePodId(now.row.id, now.row.observed?.instance ?? 0),
  );
  await done("service switched");
  return "moved";
}

/** The instance to start: a new one, or the lost one. Undefined if the service changed since the snapshot. */
async function openInstance(deps: ReconcileDeps, snapshot: ServiceSnapshot): Promise<number | undefined> {
  const { observed, id } = snapshot.row;
  if (observed !== null && !needsInstance(snapshot)) return observed.instance;
  // from an interrupted or stale start
  await endNewInstances(deps, snapshot);
  return await deps.db.transaction().execute(async (tx) => {
    if (!(await isUnchanged(SERVICES, tx, snapshot))) return undefined;
    const { instance } = await tx
      .updateTable("control.services")
      .set(({ eb }) => ({ instance: eb("instance", "+", 1) }))
      .where("id", "=", id)
      .returning("instance")
      .executeTakeFirstOrThrow();
    return instance;
  });
}
