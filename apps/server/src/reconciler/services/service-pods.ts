import { setTimeout as sleep } from "node:timers/promises";
import type { PodStatus } from "@appdb/pods/driver/pod-driver";
import { sql } from "kysely";
import type { PodAddress } from "../../pods/fetch-pod.ts";
import { parseServicePodId, type ServiceLocation, servicePod, servicePodId } from "../../pods/service-paths.ts";
import { findServiceToken } from "../../pods/service-token.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";

/** How long an instance may take to end when it is stopped: requests that run are answered meanwhile. */
export const SERVICE_GRACE_MS = 10_000;
/** Requests that run when another instance takes over; what streams without an end is cut then. */
const DRAIN_MS = 60_000;
/** The same when their database is stopped: somebody waits for it to be. */
const STOP_DRAIN_MS = 20_000;
/** In which every gateway has heard where requests go from now on. */
const HEARD_MS = 200;
const POLL_MS = 50;
/** So long the job that begins to drain waits: instances in which nothing runs end within. Others are looked at later, by other jobs. */
const MOMENT_MS = 500;
/** Until then. */
export const LOOK_AGAIN_S = 1;

type PodsDeps = Pick<ReconcileDeps, "db" | "envelope" | "machine">;

export interface ServicePod {
  readonly id: string;
  readonly instance: number;
  readonly status: PodStatus;
}

/** The pods of a service that there are, whatever becomes of them; the oldest instance first. */
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

/** How an instance is asked; undefined when its database was never started. */
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
 * Has instances that no request goes to any more answer those that run, and ends them once that is done or their 60 seconds are over. It
 * waits for a moment only, the first time. Answers how many go on: whoever asks again later ends them.
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
  const goOn = await Promise.all(
    pods.map(async (pod) => {
      const waitMs = fresh.has(pod.id) ? MOMENT_MS : 0;
      if ((await drain(deps, service, pod, waitMs, signal)) && inTime.has(pod.id)) return true;
      await endInstance(deps, service, pod.instance);
      return false;
    }),
  );
  return goOn.filter(Boolean).length;
}

/** Writes down since when instances are drained; answers which are so from now on, and which may go on by the database's clock. */
async function markDraining({ db }: Pick<PodsDeps, "db">, pods: readonly ServicePod[]) {
  const ids = pods.map(({ id }) => id);
  const { rows: marked } = await sql<{ id: string }>`update control.pods set draining_since = now()
    where id = any(${ids}) and draining_since is null returning id`.execute(db);
  // what was begun in the future was begun before the clock was set back
  const { rows } = await sql<{ id: string }>`select id from control.pods where id = any(${ids})
    and draining_since between now() - make_interval(secs => ${DRAIN_MS / 1_000}::float8) and now()`.execute(db);
  return { fresh: new Set(marked.map(({ id }) => id)), in_time: new Set(rows.map(({ id }) => id)) };
}

/**
 * Has what runs in the services of a database answered, before it is stopped; the gateway sends them nothing more by then. It waits for a
 * moment only, the first time. Answers how many instances go on.
 */
export async function drainServicePods(
  deps: PodsDeps,
  databaseId: string,
  time: "first" | "again",
  signal: AbortSignal,
): Promise<number> {
  const pods = await deps.machine.driver.list({ database_id: databaseId, kind: "service" });
  const goOn = await Promise.all(
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
  return goOn.filter(Boolean).length;
}

/** Whether the stop of a database began so short a time ago that its services still answer what runs in them. */
export async function isDrainInTime({ db }: Pick<PodsDeps, "db">, operationId: string): Promise<boolean> {
  const { rows } = await sql`select from control.operations where id = ${operationId}
    and started_at between now() - make_interval(secs => ${STOP_DRAIN_MS / 1_000}::float8) and now()`.execute(db);
  return rows.length > 0;
}

/** Asks an instance to end by itself, also again. Whether it still answers requests after a while. */
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

/** Ends an instance and all that is its own. Its log stays. Safe to repeat, and nothing for one that is not there. */
export async function endInstance(
  { db, machine }: Pick<PodsDeps, "db" | "machine">,
  service: ServiceLocation,
  instance: number,
): Promise<void> {
  await endServicePod({ machine }, service, instance);
  await db.deleteFrom("control.pods").where("id", "=", servicePodId(service.id, instance)).execute();
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

/** The same, but for what is written down of it. */
export async function endServicePod(
  { machine }: Pick<PodsDeps, "machine">,
  service: ServiceLocation,
  instance: number,
): Promise<void> {
  const pod = servicePod(service, instance);
  await machine.driver.stop(pod.id, SERVICE_GRACE_MS);
  await machine.driver.forget(pod);
}
