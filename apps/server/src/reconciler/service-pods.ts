import { setTimeout as sleep } from "node:timers/promises";
import { removeFolder } from "@appdb/adapters/files/remove-folder";
import type { PodStatus } from "@appdb/adapters/pods/pod-driver";
import type { ServiceDoor } from "../pods/ask-service.ts";
import { type PlacedService, parseServicePodId, servicePlaces } from "../pods/service-places.ts";
import { findServiceToken } from "../pods/service-token.ts";
import type { ReconcileDeps } from "./database-deps.ts";

/** How long an instance may take to end when it is stopped: requests that run are answered meanwhile. */
export const SERVICE_GRACE_MS = 10_000;
/** Requests that run when another instance takes over; what streams without an end is cut then. */
const DRAIN_MS = 60_000;
/** The same when their database is stopped: somebody waits for it to be. */
const STOP_DRAIN_MS = 20_000;
/** In which every gateway has heard where requests go from now on. */
const HEARD_MS = 200;
const POLL_MS = 50;

type PodsDeps = Pick<ReconcileDeps, "db" | "envelope" | "machine">;

export interface ServicePod {
  readonly id: string;
  readonly instance: number;
  readonly status: PodStatus;
}

/** The pods of a service that there are, whatever becomes of them; the oldest instance first. */
export async function listServicePods(
  { machine }: Pick<PodsDeps, "machine">,
  { database_id, id }: PlacedService,
): Promise<ServicePod[]> {
  const pods = await machine.driver.list({ database_id, kind: "service" });
  return pods
    .flatMap((status) => {
      const parsed = parseServicePodId(status.id);
      return parsed?.service_id === id ? [{ id: status.id, instance: parsed.instance, status }] : [];
    })
    .sort((a, b) => a.instance - b.instance);
}

/** How an instance is asked; undefined when its database was never started. */
export async function findDoor(
  { db, envelope, machine }: PodsDeps,
  service: PlacedService,
  instance: number,
): Promise<ServiceDoor | undefined> {
  const token = await findServiceToken({ db, envelope }, service, instance);
  return token && { socket: servicePlaces(machine.place, service, instance).socket, token };
}

/** Has instances that no request goes to any more answer those that run, and ends them. */
export async function retireInstances(
  deps: PodsDeps,
  service: PlacedService,
  pods: readonly ServicePod[],
  signal: AbortSignal,
): Promise<void> {
  if (pods.length === 0) return;
  await sleep(HEARD_MS, undefined, { signal });
  await Promise.all(pods.map((pod) => retire(deps, service, pod, signal)));
}

async function retire(deps: PodsDeps, service: PlacedService, pod: ServicePod, signal: AbortSignal): Promise<void> {
  await drain(deps, service, pod, DRAIN_MS, signal);
  await endInstance(deps, service, pod.instance);
}

/** Has what runs in the services of a database answered, before it is stopped, for a time; the gateway sends them nothing more by then. */
export async function drainServicePods(deps: PodsDeps, database_id: string, signal: AbortSignal): Promise<void> {
  const pods = await deps.machine.driver.list({ database_id, kind: "service" });
  await Promise.all(
    pods.map(async ({ id, state }) => {
      const pod = parseServicePodId(id);
      if (pod === undefined || state !== "running") return;
      const { instance, service_id } = pod;
      await drain(deps, { id: service_id, database_id }, { id, instance }, STOP_DRAIN_MS, signal);
    }),
  );
}

/** Resolves when the instance has ended by itself, or its time is up, or nobody answers. */
async function drain(
  deps: PodsDeps,
  service: PlacedService,
  { id, instance }: Pick<ServicePod, "id" | "instance">,
  limit_ms: number,
  signal: AbortSignal,
): Promise<void> {
  const door = await findDoor(deps, service, instance);
  const drains = door !== undefined && (await deps.machine.drainService(door));
  for (const until = performance.now() + limit_ms; drains && performance.now() < until; ) {
    const status = await deps.machine.driver.inspect(id);
    if (status?.state !== "running") break;
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** Ends an instance and all that is its own. Its log stays. Safe to repeat, and nothing for one that is not there. */
export async function endInstance(
  { db, machine }: Pick<PodsDeps, "db" | "machine">,
  service: PlacedService,
  instance: number,
): Promise<void> {
  await endServicePod({ machine }, service, instance);
  const { pod_id } = servicePlaces(machine.place, service, instance);
  await db.deleteFrom("control.pods").where("id", "=", pod_id).execute();
}

/** Ends the pods of all services of a database. */
export async function endServicePods({ machine }: Pick<PodsDeps, "machine">, database_id: string): Promise<void> {
  const pods = await machine.driver.list({ database_id, kind: "service" });
  await Promise.all(
    pods.map(async ({ id }) => {
      const pod = parseServicePodId(id);
      if (pod !== undefined) await endServicePod({ machine }, { id: pod.service_id, database_id }, pod.instance);
    }),
  );
}

/** The same, but for what is written down of it. */
export async function endServicePod(
  { machine }: Pick<PodsDeps, "machine">,
  service: PlacedService,
  instance: number,
): Promise<void> {
  const { pod_id, run_folder, scratch_folder } = servicePlaces(machine.place, service, instance);
  await machine.driver.stop(pod_id, SERVICE_GRACE_MS);
  await machine.driver.forget(pod_id);
  // it lies in the system's folder for sockets, where nobody else would look for it
  for (const folder of [run_folder, scratch_folder]) await removeFolder(folder);
}
