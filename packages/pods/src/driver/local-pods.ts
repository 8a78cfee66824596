import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { isDiskFull } from "@appdb/system/files/is-disk-full";
import { removeFolder } from "@appdb/system/files/remove-folder";
import { waitForLock } from "@appdb/system/processes/numbered-lock";
import type { ProcessIdentity } from "@appdb/system/processes/process-identity";
import { createLocalAccess } from "./local-access.ts";
import type { LocalDriver, LocalDriverInput } from "./local-driver.ts";
import type { PodDriver, PodExit, PodLabels, PodSpec, PodStatus } from "./pod-driver.ts";
import { type LaunchInput, launch } from "./pod-launch.ts";
import { boundOutput } from "./pod-log.ts";
import { endRun, readRun } from "./pod-run.ts";
import {
  hasLabels,
  listPodRecords,
  type PodRecord,
  readPodRecord,
  removePodRecord,
  removeRun,
  writePodRecord,
} from "./pod-state.ts";
import { specHash } from "./spec-hash.ts";
import type { PodFolder, TaskRunner } from "./task-runner.ts";

/** Time for a pod to end when another spec replaces it. */
const REPLACE_GRACE_MS = 15_000;
const LOCK = "lock.";
/** Lock of the folder: one start at a time checks which organizations are present and records a pod. */
const PLACES = ".places";

/** The pod's complete environment. It contains none of the server's secrets. */
export const POD_ENVIRONMENT = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LANG: "C.UTF-8",
} as const;

/** A pod, and the folders of this machine that it sees. */
export interface PlacedPod {
  readonly spec: PodSpec;
  /** Its volumes and its image. */
  readonly folders: readonly PodFolder[];
}

/** Driver-specific parts of pods that are processes of this machine. */
export interface LocalPodHost extends Pick<PodDriver, "name" | "isolates">, TaskRunner {
  /** Refuses an organization when it may not share the machine with the present ones. @throws pods_one_organization */
  admit(organizationId: string, others: readonly string[]): void;
  /**
   * Prepares one start of a pod and returns how to run its program. Removes leftovers of an earlier start.
   * @throws pod_failed
   */
  prepare(pod: PlacedPod, record: PodRecord): Promise<Pick<LaunchInput, "argv" | "env">>;
  /**
   * Starts the pod other than as a child process. Writes the same files as `launch`.
   * @throws pod_failed; the abort's reason
   */
  launch?(spec: PodSpec, launched: LaunchInput, signal: AbortSignal): Promise<ProcessIdentity | null>;
  /** Resolves when the program runs, or when all processes before it have ended. */
  begun(record: PodRecord, signal: AbortSignal): Promise<void>;
  /** Processes of a start that are not found by their ancestry. */
  processes(record: PodRecord): number[];
  memoryBytes(record: PodRecord): number | null;
  isOutOfMemory(record: PodRecord, exit: PodExit): boolean;
  /** Releases the resources of `prepare` once all processes have ended. Safe to repeat. */
  release(record: PodRecord): Promise<void>;
  /** Lets go of what is kept for a database beyond its pods. Safe to repeat. */
  forgetDatabase(databaseId: string): Promise<void>;
}

/** Pods as processes of this machine with records in files: the common part of all such drivers. */
export function createLocalPods(
  { folder, layout, log, clock }: Omit<LocalDriverInput, "program">,
  host: LocalPodHost,
): LocalDriver {
  const access = createLocalAccess(layout.folder);
  const stopping = new AbortController();
  const tasks = new Map<Promise<unknown>, string>();
  const until = (signal: AbortSignal) => AbortSignal.any([signal, stopping.signal]);

  async function ensure(spec: PodSpec, signal: AbortSignal): Promise<PodStatus> {
    using _lock = await waitForLock(join(folder, spec.id), LOCK, signal);
    const spec_hash = specHash(spec);
    const previous = readPodRecord(folder, spec.id);
    if (previous !== undefined) {
      const status = previous.spec_hash === spec_hash ? statusOf(previous) : undefined;
      // written only after the pod got its whole input: a killed server may have sent just a part
      if (status?.state === "running" && previous.process !== null) return status;
      await end(previous, REPLACE_GRACE_MS);
    }
    const record = await takePlace(spec, spec_hash, signal);
    if (previous !== undefined) removeRun(folder, previous);
    try {
      const launched = await host.prepare(await place(spec), record);
      const { log_folder: logFolder, run } = record;
      const runFolder = join(folder, spec.id, run);
      const input = spec.input.reveal();
      const whole = { ...launched, run, run_folder: runFolder, input, log_folder: logFolder };
      const identity = await (host.launch?.(spec, whole, until(signal)) ?? launch(whole, until(signal)));
      const started = { ...record, process: identity };
      writePodRecord(folder, started);
      await host.begun(started, until(signal));
      log.info({ pod: spec.id, pod_pid: identity?.pid, database: spec.labels.database_id }, "a pod was started");
      const status = statusOf(started);
      if (status !== undefined) return status;
      throw appError("pod_failed", { detail: `The process of the pod ${spec.id} did not start.` });
    } catch (error) {
      await end(record, 0);
      throw error;
    }
  }

  /** Finds the folders of a pod, and makes those that are missing. @throws what the layout does */
  async function place(spec: PodSpec): Promise<PlacedPod> {
    await layout.makeFolders(spec);
    const folders = spec.volumes.map(({ access: mode, code_parts: parts = [], source }): PodFolder => {
      return { path: layout.folder(source), mode, code_parts: parts };
    });
    const seen = new Set(folders.map(({ path }) => path));
    const ofImage = (await layout.imageFolders(spec)).filter(({ path }) => !seen.has(path));
    return { spec, folders: [...folders, ...ofImage] };
  }

  /** Writes the pod down before anything of it runs. @throws pods_one_organization, pod_failed */
  async function takePlace(spec: PodSpec, spec_hash: string, signal: AbortSignal): Promise<PodRecord> {
    using _lock = await waitForLock(join(folder, PLACES), LOCK, signal);
    admit(spec.labels);
    const { id, labels } = spec;
    const startedAt = new Date(clock.now()).toISOString();
    const run = randomBytes(8).toString("hex");
    const driver = host.name;
    const record: PodRecord = {
      id,
      labels,
      driver,
      spec_hash,
      started_at: startedAt,
      log_folder: findLogFolder(spec),
      run,
      process: null,
    };
    writePodRecord(folder, record);
    return record;
  }

  /** @throws pod_failed for a volume that pods of this machine do not find where the spec says */
  function findLogFolder({ id, volumes }: PodSpec): string {
    const misplaced = volumes.find(({ source, target }) => layout.folder(source) !== target);
    const log = volumes.find(({ access: mode, source }) => source.kind === "logs" && mode === "write");
    if (misplaced === undefined && log !== undefined) return log.target;
    const why = misplaced === undefined ? "has no log" : `has ${misplaced.name} at ${misplaced.target}`;
    throw appError("pod_failed", { detail: `The pod ${id} ${why}: no pod of this machine runs so.` });
  }

  function admit({ organization_id: organizationId }: PodLabels): void {
    const others = [...listPodRecords(folder).map(({ labels }) => labels.organization_id), ...tasks.values()];
    host.admit(organizationId, others);
  }

  async function end(record: PodRecord, graceMs: number): Promise<void> {
    await endRun(folder, record, graceMs, () => host.processes(record));
    await host.release(record);
  }

  /**
   * The lock is a file, so a full disk prevents it. Stopping still works: nothing can start there, and stopping twice
   * is harmless.
   */
  async function lockToEnd(id: string): Promise<Disposable | null> {
    try {
      return await waitForLock(join(folder, id), LOCK);
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      log.warn({ pod: id }, "a pod is stopped without its lock because the disk is full");
      return null;
    }
  }

  /** @throws pod_failed when the pod runs */
  async function endForgotten(record: PodRecord): Promise<void> {
    if (readRun(folder, record).state === "running") {
      throw appError("pod_failed", { detail: `The pod ${record.id} runs; it can be forgotten once it was stopped.` });
    }
    await end(record, 0);
  }

  function statusOf(record: PodRecord): PodStatus | undefined {
    const run = readRun(folder, record);
    if (run.state === "unstarted") return undefined;
    const { id, labels, spec_hash, started_at: startedAt } = record;
    const known = { id, labels, spec_hash, started_at: startedAt, memory_bytes: null };
    if (run.state === "running") return { ...known, state: "running", pid: run.program?.pid ?? null, exit: null };
    const exit = { ...run.exit, is_out_of_memory: host.isOutOfMemory(record, run.exit) };
    return { ...known, state: "exited", pid: null, exit };
  }

  return {
    name: host.name,
    isolates: host.isolates,
    endpoints: access.endpoints,
    lastLines: access.lastLines,
    target: layout.folder,
    ensure,
    async stop(id, graceMs) {
      if (readPodRecord(folder, id) === undefined) return;
      using _lock = await lockToEnd(id);
      const record = readPodRecord(folder, id);
      if (record !== undefined) await end(record, graceMs);
    },
    async inspect(id) {
      const record = readPodRecord(folder, id);
      const status = record === undefined ? undefined : statusOf(record);
      if (record === undefined || status?.state !== "running") return status;
      return { ...status, memory_bytes: host.memoryBytes(record) };
    },
    async list(labels) {
      const records = listPodRecords(folder).filter((record) => hasLabels(record.labels, labels));
      for (const { log_folder: logFolder } of records) boundOutput(logFolder);
      return records.flatMap((record) => statusOf(record) ?? []);
    },
    logs: (log, input) => access.logs(log, { ...input, signal: until(input.signal) }),
    async forget(pod) {
      const { id } = pod;
      // also without a record: a start that begins meanwhile needs the folders
      using _lock = await lockToEnd(id);
      const record = readPodRecord(folder, id);
      if (record !== undefined) await endForgotten(record);
      // nothing else cleans the system's folder for sockets
      for (const kind of ["sockets", "scratch"] as const) await removeFolder(layout.folder({ kind, pod }));
      // the lock goes with the record's folder, and so goes last
      removePodRecord(folder, id, record?.run ?? "none");
    },
    listOwners: layout.listOwners,
    forgetService: layout.removeService,
    async forgetDatabase(databaseId) {
      await layout.removeDatabase(databaseId);
      await host.forgetDatabase(databaseId);
    },
    async run(task, signal) {
      admit(task.labels);
      const running = host.run(task, until(signal));
      tasks.set(running, task.labels.organization_id);
      return await running.finally(() => tasks.delete(running));
    },
    async [Symbol.asyncDispose]() {
      stopping.abort(appError("interrupted", { detail: "The service is stopping." }));
      await Promise.allSettled(tasks.keys());
    },
  };
}
