import { databaseUriOf } from "@appdb/contract/control/resource-names";
import type { PodHealth } from "@appdb/contract/pod-spec";
import type { PodStatus } from "@appdb/pods/driver/pod-driver";
import { type PodEvent, type ProbeAnswer, watchPods } from "@appdb/pods/driver/pod-keeper";
import { createSteadyClock } from "@appdb/system/processes/steady-clock";
import { createOutageLog, type OutageLog } from "../../database/outage-log.ts";
import { type ControlDatabase, errorFields } from "../../database/pool.ts";
import type { PodAddress } from "../../pods/fetch-pod.ts";
import { findPodToken } from "../../pods/pod-token.ts";
import { logOf, parseServicePodId } from "../../pods/service-paths.ts";
import { judgeHealth, markPodLost, type ServingResource } from "../core/lost-pods.ts";
import { STOP_GRACE_MS } from "../core/pod-rows.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import { currentOperation } from "../core/resource.ts";
import { ServicePodMonitor } from "../services/monitor-services.ts";
import { DATABASES } from "./database-resource.ts";
import { failLostDatabase } from "./fail-database.ts";
import { keepMetered } from "./keep-metered.ts";
import { findAwake, sleepDatabase } from "./sleep-database.ts";

/** Minimum interval for storing values that change often or are slow to compute. */
const USAGE_MS = 30_000;
/** Times of use within this interval count as one. */
const NEAR_MS = 5_000;

/**
 * Watches the pods of databases. A database without a running, answering pod is not AVAILABLE and is restarted. An idle
 * database is put to sleep. Changes of state are stored. Sleeping databases have no pod and are skipped.
 */
export function monitorDatabases(deps: ReconcileDeps): AsyncDisposable {
  const stopping = new AbortController();
  const monitoring = monitorPods(deps, stopping.signal);
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await monitoring;
    },
  };
}

async function monitorPods(deps: ReconcileDeps, signal: AbortSignal): Promise<void> {
  const { db, log, machine } = deps;
  const services = new ServicePodMonitor(deps);
  const databases = new DatabasePodMonitor(deps, services);
  const isService = (pod: PodStatus) => pod.labels.kind === "service";
  const keeper = {
    driver: machine.driver,
    log,
    clock: createSteadyClock(),
    probe: (pod: PodStatus) => (isService(pod) ? services.probe(pod) : databases.probe(pod)),
    isWanted: async (pod: PodStatus) =>
      isService(pod) ? services.isWanted(pod) : (await readServing(db, pod.labels.database_id)) !== undefined,
    logOf: ({ id, labels }: PodStatus) => logOf({ id, database_id: labels.database_id }),
  };
  for await (const event of watchPods(keeper, signal)) {
    const is_service = parseServicePodId(event.pod_id) !== undefined;
    await (is_service ? services.hear(event) : handlePodEvent(deps, event)).catch((error) =>
      log.error({ ...errorFields(error), pod: event.pod_id }, "could not handle the end of a pod"),
    );
  }
}

async function handlePodEvent(deps: ReconcileDeps, event: PodEvent): Promise<void> {
  // the job that started it waits for this
  if (event.event === "ready") return;
  const serving = await readServing(deps.db, event.database_id);
  if (serving === undefined) return;
  if (event.event === "failed") await failLostDatabase(deps, serving, event);
  else await markPodLost(DATABASES, deps, serving, event);
}

/** The state of a pod between two answers. */
interface Page {
  readonly address: PodAddress;
  usage: string;
  usage_ms: number;
}

class DatabasePodMonitor {
  readonly #deps: ReconcileDeps;
  readonly #pages = new Map<string, Page>();
  readonly #services: ServicePodMonitor;
  readonly #clock = createSteadyClock();
  readonly #outage: OutageLog;

  constructor(deps: ReconcileDeps, services: ServicePodMonitor) {
    this.#deps = deps;
    this.#outage = createOutageLog(deps.log);
    this.#services = services;
  }

  async probe(pod: PodStatus): Promise<ProbeAnswer> {
    const { machine } = this.#deps;
    const { database_id: databaseId } = pod.labels;
    const page = await this.#open(pod);
    if (page === undefined) return "starting";
    const health = await machine.askHealth(page.address);
    const verdict = await judgeHealth(this.#deps, pod.id, health, STOP_GRACE_MS);
    if (health === undefined || verdict !== "ready") return verdict;
    await this.#write(pod, page, health).then(this.#outage.worked, (error) =>
      this.#outage.failed(error, "could not store the state of a database", { db: databaseId }),
    );
    return verdict;
  }

  async #open({ id, labels }: PodStatus): Promise<Page | undefined> {
    const known = this.#pages.get(id);
    if (known !== undefined) return known;
    const token = await findPodToken(this.#deps, labels.database_id);
    if (token === undefined) return undefined;
    const { api } = await this.#deps.machine.driver.endpoints({ id, database_id: labels.database_id });
    const page: Page = { address: { endpoint: api, token }, usage: "", usage_ms: Number.NEGATIVE_INFINITY };
    this.#pages.set(id, page);
    return page;
  }

  async #write(pod: PodStatus, page: Page, health: PodHealth): Promise<void> {
    const deps = this.#deps;
    const row = await readAwake(deps.db, pod.labels.database_id);
    if (row === undefined) return;
    const nowMs = this.#clock.now();
    const services = this.#services.useOf(pod.labels.database_id);
    const idleMs = Math.floor(Math.min(health.idle_ms, services?.idle_ms ?? health.idle_ms));
    const { sleep_after: sleepAfter } = row.desired.settings;
    const busy = health.busy ?? describeRequests(services?.in_flight ?? 0);
    const { because, is_due: isDue } = findAwake({ sleep_after: sleepAfter, busy, idle_ms: idleMs });
    if (isDue && (await sleepDatabase(deps, row))) {
      this.#pages.delete(pod.id);
      return;
    }
    const set: { awake_because?: string; last_used_at?: Date; usage?: string } = {};
    if (row.awake_because !== because) set.awake_because = because;
    if (nowMs - page.usage_ms >= USAGE_MS || row.usage?.is_disk_full !== health.is_disk_full) {
      page.usage_ms = nowMs;
      const usage = await this.#weigh(pod, health);
      await keepMetered(deps.db, row.id, health);
      if (page.usage !== usage) set.usage = usage;
      page.usage = usage;
      const lastUsedAt = new Date(Date.now() - idleMs);
      if (Math.abs((row.last_used_at?.getTime() ?? 0) - lastUsedAt.getTime()) > NEAR_MS) set.last_used_at = lastUsedAt;
    }
    if (Object.keys(set).length === 0) return;
    await deps.db
      .updateTable("control.databases")
      .set(set)
      .where("id", "=", row.id)
      .where("state", "=", "AVAILABLE")
      .execute();
  }

  /** Measures the memory and disk of the database and its services, as stored in its row. */
  async #weigh(pod: PodStatus, health: PodHealth): Promise<string> {
    const { db, machine } = this.#deps;
    const { database_id: databaseId } = pod.labels;
    let memoryBytes: number | null = null;
    for (const { id } of await machine.driver.list({ database_id: databaseId })) {
      const ofPod = (await machine.driver.inspect(id))?.memory_bytes ?? null;
      if (ofPod !== null) memoryBytes = (memoryBytes ?? 0) + ofPod;
      await db
        .updateTable("control.pods")
        .set({ memory_bytes: ofPod === null ? null : String(ofPod) })
        .where("id", "=", id)
        .execute();
    }
    return JSON.stringify({
      disk_bytes: health.disk_bytes,
      disk_limit_bytes: health.disk_limit_bytes,
      memory_bytes: memoryBytes,
      is_disk_full: health.is_disk_full,
      media_bytes: health.media_bytes,
      media_objects: health.media_objects,
      is_media_in_bucket: health.is_media_in_bucket,
      media_limit_bytes: health.media_limit_bytes,
      measured_at: health.measured_at,
    });
  }
}

function describeRequests(inFlight: number): string | null {
  if (inFlight === 0) return null;
  return inFlight === 1 ? "1 request runs" : `${inFlight} requests run`;
}

/** A database whose pod must answer: an AVAILABLE one, or one that serves while its next image is built. */
async function readServing(db: ControlDatabase, id: string): Promise<ServingResource | undefined> {
  const snapshot = await DATABASES.loadSnapshot(db, id);
  if (snapshot === undefined) return undefined;
  const { row } = snapshot;
  const isBuilding =
    row.state === "UPDATING" &&
    row.last_build?.state === "running" &&
    row.last_build.operation_id === currentOperation(snapshot)?.id;
  return row.state === "AVAILABLE" || isBuilding ? snapshot : undefined;
}

export type AwakeRow = NonNullable<Awaited<ReturnType<typeof readAwake>>>;

/** An AVAILABLE database, otherwise undefined. */
async function readAwake(db: ControlDatabase, id: string) {
  const row = await db
    .selectFrom("control.databases as d")
    .innerJoin("control.organizations as o", "o.id", "d.org_id")
    .select(["d.id", "d.org_id", "d.name", "d.generation", "d.desired", "d.awake_because", "d.last_used_at", "d.usage"])
    .select("o.name as org")
    .where("d.id", "=", id)
    .where("d.state", "=", "AVAILABLE")
    .executeTakeFirst();
  return row === undefined ? undefined : { ...row, uri: databaseUriOf(row.org, row.name) };
}
