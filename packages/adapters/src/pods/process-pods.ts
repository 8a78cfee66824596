import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import type { Clock, Logger } from "@appdb/engine/ports";
import { waitForLock } from "../processes/numbered-lock.ts";
import { proportionalMemory } from "../processes/process-table.ts";
import type { PodDriver, PodLabels, PodSpec, PodStatus } from "./pod-driver.ts";
import { type LaunchInput, launch } from "./pod-launch.ts";
import { boundOutput, readPodLog } from "./pod-log.ts";
import { endRun, readRun, runFamily } from "./pod-run.ts";
import {
  hasLabels,
  listPodRecords,
  type PodRecord,
  readPodRecord,
  removePodRecord,
  removeRun,
  writePodRecord,
} from "./pod-state.ts";
import { runProcessTask } from "./process-task.ts";
import { specHash } from "./spec-hash.ts";

/** How long a pod that gives way to another spec may take to end. */
const REPLACE_GRACE_MS = 15_000;
const LOCK = "lock.";
/** Of the folder: who may be in it is looked at, and one more is written down, by one at a time. */
const PLACES = ".places";

/** All that a pod gets of an environment, so that none of the server's secrets is in it. */
export const POD_ENVIRONMENT = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LANG: "C.UTF-8",
} as const;

export interface ProcessPodsOptions {
  /** Where pods are remembered; private, and of this driver alone. */
  readonly folder: string;
  /** The pod program, run by the Node that runs us. */
  readonly program: { readonly file: string; readonly node_options: readonly string[] };
  readonly log: Logger;
  readonly clock: Clock;
}

/**
 * Pods as processes of the user that we are, each in a session of its own. It keeps nothing apart and bounds nothing but a
 * task's time and disk; so it serves one organization. A process that leaves its session is still found by its environment
 * (Linux), unless it threw that away too.
 */
export function createProcessPods(options: ProcessPodsOptions): PodDriver {
  const { folder, log } = options;
  const stopping = new AbortController();
  const tasks = new Map<Promise<unknown>, string>();
  const until = (signal: AbortSignal) => AbortSignal.any([signal, stopping.signal]);

  async function ensure(spec: PodSpec, signal: AbortSignal): Promise<PodStatus> {
    using _lock = await waitForLock(join(folder, spec.id), LOCK, signal);
    const spec_hash = specHash(spec);
    const former = readPodRecord(folder, spec.id);
    if (former !== undefined) {
      const status = former.spec_hash === spec_hash ? statusOf(former) : undefined;
      if (status?.state === "running" && status.pid !== null) return status;
      await endRun(folder, former, REPLACE_GRACE_MS);
    }
    const record = await takePlace(spec, spec_hash, signal);
    if (former !== undefined) removeRun(folder, former);
    try {
      const identity = await launch(toLaunch(spec, record.run), until(signal));
      const started = { ...record, process: identity };
      writePodRecord(folder, started);
      log.info({ pod: spec.id, pid: identity?.pid, database: spec.labels.database_id }, "a pod was started");
      const status = statusOf(started);
      if (status !== undefined) return status;
      throw appError("pod_failed", { detail: `The process of the pod ${spec.id} did not come to run.` });
    } catch (error) {
      await endRun(folder, record, 0);
      throw error;
    }
  }

  function toLaunch(spec: PodSpec, run: string): LaunchInput {
    const [, ...args] = spec.args;
    const { file, node_options } = options.program;
    return {
      run,
      run_folder: join(folder, spec.id, run),
      argv: [process.execPath, ...node_options, file, ...args],
      env: POD_ENVIRONMENT,
      input: spec.input.reveal(),
      log_folder: spec.log_folder,
    };
  }

  /** Writes the pod down before anything of it runs. @throws pods_one_organization */
  async function takePlace(spec: PodSpec, spec_hash: string, signal: AbortSignal): Promise<PodRecord> {
    using _lock = await waitForLock(join(folder, PLACES), LOCK, signal);
    refuseOthers(spec.labels);
    const { id, labels, log_folder } = spec;
    const started_at = new Date(options.clock.now()).toISOString();
    const run = randomBytes(8).toString("hex");
    const record: PodRecord = { id, labels, spec_hash, started_at, log_folder, run, process: null };
    writePodRecord(folder, record);
    return record;
  }

  function refuseOthers({ organization_id }: PodLabels): void {
    const there = [...listPodRecords(folder).map(({ labels }) => labels.organization_id), ...tasks.values()];
    if (there.every((other) => other === organization_id)) return;
    throw appError("pods_one_organization", {
      detail: "The driver `process` keeps nothing apart, and pods of another organization are on this machine.",
      hint: "Run the server with the driver `sandbox` or `container` to serve several organizations.",
    });
  }

  function statusOf(record: PodRecord): PodStatus | undefined {
    const run = readRun(folder, record);
    if (run.state === "unstarted") return undefined;
    const { id, labels, spec_hash, started_at } = record;
    const known = { id, labels, spec_hash, started_at, memory_bytes: null };
    if (run.state === "exited") return { ...known, state: "exited", pid: null, exit: run.exit };
    return { ...known, state: "running", pid: run.program?.pid ?? null, exit: null };
  }

  return {
    name: "process",
    isolates: false,
    ensure,
    async stop(id, grace_ms) {
      if (readPodRecord(folder, id) === undefined) return;
      using _lock = await waitForLock(join(folder, id), LOCK);
      const record = readPodRecord(folder, id);
      if (record !== undefined) await endRun(folder, record, grace_ms);
    },
    async inspect(id) {
      const record = readPodRecord(folder, id);
      const status = record === undefined ? undefined : statusOf(record);
      if (record === undefined || status?.state !== "running") return status;
      const pids = runFamily(folder, record).map(({ pid }) => pid);
      return { ...status, memory_bytes: proportionalMemory(pids) ?? null };
    },
    async list(labels) {
      const records = listPodRecords(folder).filter((record) => hasLabels(record.labels, labels));
      for (const { log_folder } of records) boundOutput(log_folder);
      return records.flatMap((record) => statusOf(record) ?? []);
    },
    logs: (log_folder, input) => readPodLog(log_folder, { ...input, signal: until(input.signal) }),
    async forget(id) {
      if (readPodRecord(folder, id) === undefined) return;
      using _lock = await waitForLock(join(folder, id), LOCK);
      const record = readPodRecord(folder, id);
      if (record === undefined) return;
      if (readRun(folder, record).state === "running") {
        throw appError("pod_failed", { detail: `The pod ${id} runs; it can be forgotten once it was stopped.` });
      }
      await endRun(folder, record, 0);
      removePodRecord(folder, id, record.run);
    },
    async run(task, signal) {
      refuseOthers(task.labels);
      const running = runProcessTask(task, until(signal));
      tasks.set(running, task.labels.organization_id);
      return await running.finally(() => tasks.delete(running));
    },
    async [Symbol.asyncDispose]() {
      stopping.abort(appError("interrupted", { detail: "The service is stopping." }));
      await Promise.allSettled(tasks.keys());
    },
  };
}
