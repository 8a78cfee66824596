import { setTimeout as sleep } from "node:timers/promises";
import type { PodStatus } from "@appdb/pods/driver/pod-driver";
import { sql } from "kysely";
import type { PodAddress } from "../../pods/fetch-pod.ts";
import { parseServicePodId, type ServiceLocation, servicePod, servicePodId } from "../../pods/service-paths.ts";
import { findServiceToken } from "../../pods/service-token.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";

/** Maximum time for a stopping instance to finish its requests. */
export const SERVICE_GRACE_MS = 10_000;
/** Maximum time for running requests after another instance took over. Endless streams are cut then. */
const DRAIN_MS = 60_000;
/** The maximum when their database stops, because a caller waits for the stop. */
const STOP_DRAIN_MS = 20_000;
/** All gateways have the new route within this time. */
const HEARD_MS = 200;
const POLL_MS = 50;
/** How long the first job waits for a drain, enough for an idle instance. Later jobs check the others. */
const MOMENT_MS = 500;
/** Pause before the next check. */
export const LOOK_AGAIN_S = 1;

type PodsDeps = Pick<ReconcileDeps, "db" | "envelope" | "machine">;

export interface ServicePod {
  readonly id: string;
  readonly instance: number;
  readonly status: PodStatus;
}

/** All existing pods of a service, in any state, oldest instance first. */
export async function listServicePods(
  { machine }: Pick<PodsDeps, "machine">,
  { database_id: databaseId, id }: ServiceLocation,
): Promise<ServicePod[]> {
  const pods = await machine.driver.list({ database_id: databaseId, kind: "service" });
  return pods
    .flatMap((status) => {
      const parsed = parseServicePodId(status.id);
      return parsed?.service_id === id ? [{ id: status.id, instance: parsed.instance, status }] : [];
    })
    .sort((a, b) => a.instance - b.instance);
}

/** How to reach an instance. Undefined if its database was never started. */
export async function findAddress(
  { db, envelope, machine }: PodsDeps,
  service: ServiceLocation,
  instance: number,
): Promise<PodAddress | undefined> {
  const token = await findServiceToken({ db, envelope }, service, instance);
  if (token === undefined) return undefined;
  const { api } = await machine.driver.endpoints(servicePod(service, instance));
  return { endpoint: api, token };
}

/**
 * Drains instances that get no more requests. Ends each when it is idle or its 60 seconds are over. Waits only briefly,
 * the first time. Returns how many are still running; a later call ends them.
 */
export async function retireInstances(
  deps: PodsDeps,
  service: ServiceLocation,
  pods: readonly ServicePod[],
  signal: AbortSignal,
): Promise<number> {
  if (pods.length === 0) return 0;
  const { fresh, in_time: inTime } = await markDraining(deps, pods);
  if (fresh.size > 0) await sleep(HEARD_MS, undefined, { signal });
  const stillDraining = await Promise.all(
    pods.map(async (pod) => {
      const waitMs = fresh.has(pod.id) ? MOMENT_MS : 0;
      if ((await drain(deps, service, pod, waitMs, signal)) && inTime.has(pod.id)) return true;
      await endInstance(deps, service, pod.instance);
      return false;
    }),
  );
  return stillDraining.filter(Boolean).length;
}

/** Records the start of drains. Returns the new ones, and those with time left by the database's clock. */
async function markDraining({ db }: Pick<PodsDeps, "db">, pods: readonly ServicePod[]) {
  const ids = pods.map(({ id }) => id);
  const { rows: marked } = await sql<{ id: string }>`update control.pods set draining_since = now()
    where id = any(${ids}) and draining_since is null returning id`.execute(db);
  // a start in the future was recorded before the clock was set back
  const { rows } = await sql<{ id: string }>`select id from control.pods where id = any(${ids})
    and draining_since between now() - make_interval(secs => ${DRAIN_MS / 1_000}::float8) and now()`.execute(db);
  return { fresh: new Set(marked.map(({ id }) => id)), in_time: new Set(rows.map(({ id }) => id)) };
}

/**
 * Drains all services of a database before it stops. The gateway sends them no more requests. Waits only briefly, the
 * first time. Returns how many instances are still running.
 */
export async function drainServicePods(
  deps: PodsDeps,
  databaseId: string,
  time: "first" | "again",
  signal: AbortSignal,
): Promise<number> {
  const pods = await deps.machine.driver.list({ database_id: databaseId, kind: "service" });
  const stillDraining = await Promise.all(
    pods.map(async ({ id, state }) => {
      const pod = parseServicePodId(id);
      if (pod === undefined || state !== "running") return false;
      const { instance, service_id: serviceId } = pod;
      return await drain(
        deps,
        { id: serviceId, database_id: databaseId },
        { id, instance },
        time === "first" ? MOMENT_MS : 0,
        signal,
      );
    }),
  );
  return stillDraining.filter(Boolean).length;
}

/** Whether the stop of a database began recently enough that its services may still finish their requests. */
export async function isWithinDrainTime({ db }: Pick<PodsDeps, "db">, operationId: string): Promise<boolean> {
  const { rows } = await sql`select from control.operations where id = ${operationId}
    and started_at between now() - make_interval(secs => ${STOP_DRAIN_MS / 1_000}::float8) and now()`.execute(db);
  return rows.length > 0;
}

/** Asks an instance to drain. Safe to repeat. Returns whether it still serves requests after a moment. */
async function drain(
  deps: PodsDeps,
  service: ServiceLocation,
  { id, instance }: Pick<ServicePod, "id" | "instance">,
  waitMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const address = await findAddress(deps, service, instance);
  if (address === undefined || !(await deps.machine.drainService(address))) return false;
  const until = performance.now() + waitMs;
  for (;;) {
    const status = await deps.machine.driver.inspect(id);
    if (status?.state !== "running") return false;
    if (performance.now() >= until) return true;
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** Ends an instance and removes its files, except its log. Safe to repeat, also for a missing instance. */
export async function endInstance(
  { db, machine }: Pick<PodsDeps, "db" | "machine">,
  service: ServiceLocation,
  instance: number,
): Promise<void> {
  await endServicePod({ machine }, service, instance);
  await db.deleteFrom("control.pods").where("id", "=", servicePodId(service.id, instance)).execute();
}

/**
 * Deletes the rows of instances before the serving one whose pods are gone. Such pods ended before they were retired, as
 * by a restart of the server.
 */
export async function deleteGoneRows(
  { db }: Pick<PodsDeps, "db">,
  service: ServiceLocation,
  serving: number,
  pods: readonly ServicePod[],
): Promise<void> {
  const rows = await db
    .selectFrom("control.pods")
    .select("id")
    .where("database_id", "=", service.database_id)
    .where("kind", "=", "service")
    .execute();
  const existing = new Set(pods.map(({ id }) => id));
  const gone = rows.flatMap(({ id }) => {
    const row = parseServicePodId(id);
    return row?.service_id === service.id && row.instance < serving && !existing.has(id) ? [id] : [];
  });
  if (gone.length > 0) await db.deleteFrom("control.pods").where("id", "in", gone).execute();
}

/** Ends the pods of all services of a database. */
export async function endServicePods({ machine }: Pick<PodsDeps, "machine">, databaseId: string): Promise<void> {
  const pods = await machine.driver.list({ database_id: databaseId, kind: "service" });
  await Promise.all(
    pods.map(async ({ id }) => {
      const pod = parseServicePodId(id);
      if (pod !== undefined)
        await endServicePod({ machine }, { id: pod.service_id, database_id: databaseId }, pod.instance);
    }),
  );
}

/** Like `endInstance`, but keeps its row. */
export async function endServicePod(
  { machine }: Pick<PodsDeps, "machine">,
  service: ServiceLocation,
  instance: number,
): Promise<void> {
  const pod = servicePod(service, instance);
  await machine.driver.stop(pod.id, SERVICE_GRACE_MS);
  await machine.driver.forget(pod);
}
