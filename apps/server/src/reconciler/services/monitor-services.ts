import type { PodStatus } from "@appdb/pods/driver/pod-driver";
import type { PodEvent, ProbeAnswer } from "@appdb/pods/driver/pod-keeper";
import { createSteadyClock } from "@appdb/system/processes/steady-clock";
import type { PodAddress } from "../../pods/fetch-pod.ts";
import { parseServicePodId } from "../../pods/service-paths.ts";
import { judgeHealth, markPodLost } from "../core/lost-pods.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import { failLostService } from "./fail-service.ts";
import { findAddress, SERVICE_GRACE_MS } from "./service-pods.ts";
import { keyedDatabaseOf, loadServiceSnapshot, SERVICES, type ServiceSnapshot } from "./service-resource.ts";

/** An older answer of an instance is ignored. */
const FRESH_MS = 10_000;

/** The state of an instance between two answers. */
interface Page {
  readonly database_id: string;
  readonly address: PodAddress;
  heard_ms: number;
  in_flight: number;
  idle_ms: number;
}

/** The use of a database's services. */
export interface ServicesUse {
  readonly in_flight: number;
  /** Time since the last request to any of them ended. */
  readonly idle_ms: number;
}

/** Watches the pods of services and restarts those that have ended. */
export class ServicePodMonitor {
  readonly #deps: ReconcileDeps;
  readonly #pages = new Map<string, Page>();
  readonly #clock = createSteadyClock();

  constructor(deps: ReconcileDeps) {
    this.#deps = deps;
  }

  async probe(pod: PodStatus): Promise<ProbeAnswer> {
    const page = await this.#open(pod);
    if (page === undefined) return "starting";
    const health = await this.#deps.machine.askService(page.address);
    const verdict = await judgeHealth(this.#deps, pod.id, health, SERVICE_GRACE_MS);
    if (health === undefined || verdict === "silent") return "silent";
    page.heard_ms = this.#clock.now();
    page.in_flight = health.in_flight;
    page.idle_ms = health.idle_ms;
    return verdict;
  }

  /** Whether it is the serving instance. Jobs of the service handle all others. */
  async isWanted({ id }: PodStatus): Promise<boolean> {
    return (await this.#loadServing(id)) !== undefined;
  }

  async hear(event: PodEvent): Promise<void> {
    const snapshot = await this.#loadServing(event.pod_id);
    if (snapshot === undefined) return;
    // sent again by a new supervisor, so that kept pods get keys from this process
    if (event.event === "ready") await this.#deps.service_keys.follow(keyedDatabaseOf(snapshot));
    else if (event.event === "failed") await failLostService(this.#deps, snapshot, event);
    else await markPodLost(SERVICES, this.#deps, snapshot, event);
  }

  /** Undefined if no pod of the database answered lately. */
  useOf(databaseId: string): ServicesUse | undefined {
    const now = this.#clock.now();
    for (const [id, { heard_ms: heardMs }] of this.#pages) if (now - heardMs > FRESH_MS) this.#pages.delete(id);
    const pages = [...this.#pages.values()].filter((page) => page.database_id === databaseId);
    if (pages.length === 0) return undefined;
    return {
      in_flight: pages.reduce((sum, { in_flight: inFlight }) => sum + inFlight, 0),
      idle_ms: Math.min(...pages.map(({ heard_ms: heardMs, idle_ms: idleMs }) => idleMs + (now - heardMs))),
    };
  }

  async #open({ id, labels }: PodStatus): Promise<Page | undefined> {
    const known = this.#pages.get(id);
    const pod = parseServicePodId(id);
    if (known !== undefined || pod === undefined) return known;
    const { database_id: databaseId } = labels;
    const address = await findAddress(this.#deps, { id: pod.service_id, database_id: databaseId }, pod.instance);
    if (address === undefined) return undefined;
    const page: Page = { database_id: databaseId, address, heard_ms: this.#clock.now(), in_flight: 0, idle_ms: 0 };
    this.#pages.set(id, page);
    return page;
  }

  /** The pod's service. Undefined if the instance does not serve, or ends with its database. */
  async #loadServing(podId: string): Promise<ServiceSnapshot | undefined> {
    const pod = parseServicePodId(podId);
    const snapshot = pod && (await loadServiceSnapshot(this.#deps.db, pod.service_id));
    if (snapshot === undefined || snapshot.row.observed?.instance !== pod?.instance) return undefined;
    if (snapshot.database.state === "STOPPING") return undefined;
    return snapshot.row.state === "AVAILABLE" || snapshot.row.state === "UPDATING" ? snapshot : undefined;
  }
}
