import type { ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { parseLocalTarget } from "@appdb/contract/names";
import { nearestName } from "@appdb/contract/nearest";
import type { ServiceRecord } from "@appdb/contract/routes/local";
import type { Clock, Logger } from "@appdb/engine/ports";
import { describeRoutes } from "@appdb/engine/services/describe-routes";
import { fileNameOf } from "@appdb/system/files/file-name";
import { endProcess } from "@appdb/system/processes/end-process";
import { isProcessAlive, type ProcessIdentity } from "@appdb/system/processes/process-identity";
import type { PresentLocalService } from "./plan-local-services.ts";
import { ServiceLog } from "./service-log.ts";
import { ServiceProcess } from "./service-process.ts";
import type { ServiceStore, StoredService } from "./service-store.ts";

const ORPHAN_STEPS = [
  { signal: "SIGTERM", wait_ms: 3_000 },
  { signal: "SIGKILL", wait_ms: 5_000 },
] as const;

export interface ServicesDeps {
  readonly store: ServiceStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly log_folder: string;
  /** Starts the process of a stored service. */
  fork(service: StoredService): Promise<ChildProcess>;
}

interface Entry {
  stored: StoredService;
  readonly process: ServiceProcess;
  readonly log: ServiceLog;
}

/** All services of the home: stored specs, and a process for each that must run. */
export class Services implements AsyncDisposable {
  readonly #deps: ServicesDeps;
  readonly #entries = new Map<string, Entry>();
  /** Running command of each service; concurrent commands take turns. */
  readonly #queues = new Map<string, Promise<unknown>>();
  #isStarted = false;

  constructor(deps: ServicesDeps) {
    this.#deps = deps;
    const { services, unreadable } = deps.store.readAll();
    for (const stored of services) this.#entries.set(nameOf(stored), this.#createEntry(stored));
    for (const file of unreadable) deps.log.error({ ...file }, "a service's file cannot be read");
  }

  /** Starts every service that must run, after ending processes that the previous daemon left. */
  async startAll(): Promise<void> {
    await Promise.all([...this.#entries.values()].map((entry) => this.#endOrphan(entry.stored)));
    this.#isStarted = true;
    for (const entry of this.#entries.values()) {
      if (entry.stored.desired === "running" && entry.process.state === "STOPPED") entry.process.start();
    }
  }

  /** Number of services that must run. */
  countRunning(): number {
    return [...this.#entries.values()].filter((entry) => isActive(entry.process.state)).length;
  }

  /** Whether a service of a local database must run. */
  isServing(database: string): boolean {
    return [...this.#entries.values()].some(
      ({ process, stored }) => isActive(process.state) && parseLocalTarget(stored.target).database === database,
    );
  }

  /** Services of a target and its folders, the service of that name, or all when undefined; sorted by name. */
  list(target: string | undefined): ServiceRecord[] {
    const all = this.#sorted(undefined);
    const found = all.filter(({ stored }) => {
      const name = nameOf(stored);
      return target === undefined || name === target || name.startsWith(`${target}/`);
    });
    return found.map((entry) => this.#record(entry));
  }

  /** Services of a target in the form that plans compare. */
  present(target: string): PresentLocalService[] {
    return this.#sorted(target).map((entry) => ({
      stored: entry.stored,
      state: entry.process.state,
      endpoint: endpointOf(entry),
      is_file_there: existsSync(join(entry.stored.runtime.project_root, entry.stored.manifest.app_file)),
      is_project_there: existsSync(entry.stored.runtime.project_root),
    }));
  }

  ports(): Set<number> {
    return new Set([...this.#entries.values()].map((entry) => entry.stored.port));
  }

  /**
   * Resolves a service's full name from `main/ingest`, or from `ingest` when it is unique.
   * @throws service_not_found
   */
  resolve(text: string): string {
    if (this.#entries.has(text)) return text;
    const same = [...this.#entries.values()]
      .filter((entry) => entry.stored.service === text)
      .map((entry) => nameOf(entry.stored));
    if (same.length === 1 && same[0] !== undefined) return same[0];
    const known = [...this.#entries.keys()].sort();
    const suggestion = nearestName(text, known);
    throw appError("service_not_found", {
      detail:
        same.length > 1
          ? `'${text}' is the name of ${same.length} services: ${same.join(", ")}.`
          : `There is no service '${text}'; there ${known.length === 0 ? "are none" : `is ${known.join(", ")}`}.`,
      hint: suggestion === undefined ? "cli service list" : `Did you mean ${suggestion}?`,
      meta: { name: text, known },
    });
  }

  record(name: string): ServiceRecord {
    return this.#record(this.#entry(name));
  }

  log(name: string): ServiceLog {
    return this.#entry(name).log;
  }

  /** Stores a service's new spec and starts it after ending the previous process. `settled` reports the result. */
  async replace(stored: StoredService): Promise<void> {
    const name = nameOf(stored);
    await this.#withServiceLock(name, async () => {
      const found = this.#entries.get(name);
      if (found !== undefined) await found.process.stop();
      this.#deps.store.save(stored);
      const entry = found ?? this.#createEntry(stored);
      entry.stored = stored;
      this.#entries.set(name, entry);
      entry.process.start();
    });
  }

  /** Waits until a service is AVAILABLE, FAILED or STOPPED. */
  async settled(name: string): Promise<ServiceRecord> {
    const entry = this.#entry(name);
    await entry.process.settled();
    return this.#record(entry);
  }

  async restart(name: string): Promise<ServiceRecord> {
    const entry = this.#entry(name);
    await this.replace({ ...entry.stored, desired: "running" });
    return await this.settled(name);
  }

  /** Stops a service. It keeps its record and its port until `forget`. */
  async stop(name: string): Promise<ServiceRecord> {
    return await this.#withServiceLock(name, async () => {
      const entry = this.#entry(name);
      entry.stored = { ...entry.stored, desired: "stopped" };
      this.#deps.store.save(entry.stored);
      await entry.process.stop();
      return this.#record(entry);
    });
  }

  /** Stops a service and removes its record; its log stays. */
  async forget(name: string): Promise<void> {
    await this.#withServiceLock(name, async () => {
      const entry = this.#entry(name);
      await entry.process.stop();
      this.#entries.delete(name);
      this.#deps.store.remove(entry.stored.target, entry.stored.service);
      entry.log[Symbol.dispose]();
    });
  }

  /** Ends all processes. The next daemon restarts services that must run. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#entries.values()].map((entry) => entry.process.stop()));
    for (const entry of this.#entries.values()) entry.log[Symbol.dispose]();
  }

  #createEntry(stored: StoredService): Entry {
    const { clock, fork, log, log_folder: logFolder } = this.#deps;
    const { service, target } = stored;
    const folders = target.split("/").map((part) => fileNameOf(part));
    const serviceLog = new ServiceLog(join(logFolder, ...folders, `${fileNameOf(service)}.log`));
    const entry: Entry = {
      stored,
      log: serviceLog,
      process: new ServiceProcess({
        clock,
        log,
        service_log: serviceLog,
        fork: () => fork(entry.stored),
        remember: (identity) => this.#remember(stored, identity),
      }),
    };
    return entry;
  }

  /** A full disk must not end a service. The record only matters if this process hangs after the daemon's end. */
  #remember(stored: StoredService, identity: ProcessIdentity | undefined): void {
    try {
      this.#deps.store.saveProcess(stored.target, stored.service, identity);
    } catch (error) {
      this.#deps.log.warn({ err: error, service: nameOf(stored) }, "a service's process could not be recorded");
    }
  }

  /** A service ends with its daemon. One that was too busy to notice is ended here, before its port is needed. */
  async #endOrphan(stored: StoredService): Promise<void> {
    const { log, store } = this.#deps;
    const orphan = store.findProcess(stored.target, stored.service);
    if (orphan === undefined) return;
    if (isProcessAlive(orphan)) {
      log.warn({ service_pid: orphan.pid, service: nameOf(stored) }, "ending a service that the previous daemon left");
      await endProcess(orphan, ORPHAN_STEPS);
    }
    store.saveProcess(stored.target, stored.service, undefined);
  }

  async #withServiceLock<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#queues.get(name) ?? Promise.resolve();
    // the previous command's caller handles its error
    const turn = before.then(work, work);
    this.#queues.set(name, turn);
    try {
      return await turn;
    } finally {
      if (this.#queues.get(name) === turn) this.#queues.delete(name);
    }
  }

  #entry(name: string): Entry {
    const entry = this.#entries.get(name);
    if (entry === undefined) throw appError("service_not_found", { detail: `There is no service '${name}'.` });
    return entry;
  }

  #sorted(target: string | undefined): Entry[] {
    return [...this.#entries.values()]
      .filter((entry) => target === undefined || entry.stored.target === target)
      .sort((left, right) => (nameOf(left.stored) < nameOf(right.stored) ? -1 : 1));
  }

  /** Whether a service that must run waits for the start of the daemon, which first starts PostgreSQL. */
  #isWaiting({ process, stored }: Entry): boolean {
    return !this.#isStarted && stored.desired === "running" && process.state === "STOPPED";
  }

  #record(entry: Entry): ServiceRecord {
    const { process, stored } = entry;
    return {
      name: stored.service,
      catalog_path: stored.target,
      endpoint: endpointOf(entry),
      port: stored.port,
      state: this.#isWaiting(entry) ? "STARTING" : process.state,
      error: process.error ?? null,
      ...(process.hint === undefined ? {} : { hint: process.hint }),
      restarts: process.restarts,
      pid: process.pid ?? null,
      started_at: process.started_at === undefined ? null : new Date(process.started_at).toISOString(),
      app_file: stored.manifest.app_file,
      project_root: stored.runtime.project_root,
      routes: describeRoutes(stored.manifest, stored.service),
      log_file: entry.log.path,
    };
  }
}

/** `main/ingest`. */
export function nameOf(service: { readonly target: string; readonly service: string }): string {
  return `${service.target}/${service.service}`;
}

function isActive(state: ServiceRecord["state"]): boolean {
  return state === "STARTING" || state === "AVAILABLE";
}

function endpointOf(entry: Entry): string | null {
  return isActive(entry.process.state) ? `http://127.0.0.1:${entry.stored.port}` : null;
}
