import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import { optionsText } from "@appdb/system/processes/bubblewrap-options";
import type { LocalDriver } from "../driver/local-driver.ts";
import { createLocalPods, type PlacedPod, POD_ENVIRONMENT } from "../driver/local-pods.ts";
import { giveFolders, refuseLinksTo } from "../driver/pod-folders.ts";
import { hasFullHeap, readLastLines } from "../driver/pod-log.ts";
import { readRun } from "../driver/pod-run.ts";
import type { PodRecord } from "../driver/pod-state.ts";
import { allotUser, retireUser } from "../driver/pod-users.ts";
import { codeMounts, PLACE } from "./code-sandbox.ts";
import { allocatorSettings, boundPod, enterGroup, heapOptions, type PodGroups, podGroups } from "./sandbox-bounds.ts";
import { writeSettings } from "./sandbox-files.ts";
import {
  entryNetwork,
  isTunnelClosed,
  openSandboxHost,
  type SandboxHost,
  type SandboxPodsInput,
} from "./sandbox-host.ts";
import { boxOptions, POD_UID, type Sight, systemPrograms, systemSettings } from "./sandbox-layout.ts";
import { isSystemPath, stageMounts } from "./sandbox-reach.ts";
import { codeCommand, entryCommand } from "./sandbox-scripts.ts";
import { endLeftoverTasks, runSandboxTask } from "./sandbox-task.ts";
import { seccompFilter } from "./seccomp-filter.ts";

/** Share of a pod's memory that its temporary folder may use. */
const TEMPORARY_SHARE = 0.5;
const BYTES_PER_MB = 1024 * 1024;

const BEGIN_TIMEOUT_MS = 20_000;
const POLL_MS = 2;
const LAST_LINES = 5;

/**
 * Pods as Linux sandboxes with a user per database, namespaces, a system-call filter and control-group limits. Within a
 * pod, the application's code has its own sandbox. See docs/pods.md. Tasks of a killed driver are ended first.
 * @throws pods_unavailable where sandboxes cannot be made
 */
export async function createSandboxPods(input: SandboxPodsInput): Promise<LocalDriver> {
  const host = openSandboxHost(input);
  const { folder, groups } = host;
  await endLeftoverTasks(host);
  const runFolder = (record: PodRecord) => join(folder, record.id, record.run);
  const groupsOf = ({ id, labels }: PodRecord) => podGroups(labels.database_id, id);

  return createLocalPods(input, {
    name: "sandbox",
    isolates: true,
    admit: () => undefined,
    async prepare(pod, record) {
      const argv = preparePod(host, input.program, pod, runFolder(record), groupsOf(record));
      const launcher = { SERVICE_POD_LAUNCHER: JSON.stringify(codeCommand(PLACE)) };
      return { argv, env: { ...POD_ENVIRONMENT, ...allocatorSettings(pod.spec.limits), ...launcher } };
    },
    begun: (record, signal) => waitForBegin(folder, record, runFolder(record), signal),
    processes: (record) => groups.processes(groupsOf(record).pod),
    memoryBytes: (record) => groups.memoryBytes(groupsOf(record).pod) ?? null,
    isOutOfMemory(record, exit) {
      if (exit.code === 0) return false;
      if (exit.signal === "SIGABRT" && hasFullHeap(record.log_folder)) return true;
      return existsSync(join(runFolder(record), KILLS)) || groups.memoryKills(groupsOf(record).engine) > 0;
    },
    async release(record) {
      const { database, engine, pod } = groupsOf(record);
      if (groups.memoryKills(engine) > 0 && existsSync(runFolder(record)))
        writeFileSync(join(runFolder(record), KILLS), "");
      if (!(await groups.remove(pod))) input.log.warn({ pod: record.id }, "a group of processes cannot be removed");
      for (const above of [database, ""]) groups.removeIfEmpty(above);
    },
    forgetDatabase: async (databaseId) => retireUser(join(folder, USERS), podGroups(databaseId, "").database),
    run: (task, signal) => runSandboxTask(host, task, signal),
  });
}

const USERS = ".users";
/** Outlives the counting group: the number of out-of-memory kills of the pod. */
const KILLS = "memory-kills";

/** Prepares one start of a pod. Returns how to run its program. */
function preparePod(
  host: SandboxHost,
  program: SandboxPodsInput["program"],
  { folders, spec }: PlacedPod,
  run_folder: string,
  names: PodGroups,
): string[] {
  const { groups, is_root: isRoot } = host;
  const shown = join(run_folder, "shown");
  mkdirSync(join(run_folder, "gather"), { recursive: true, mode: 0o700 });
  const uid = isRoot ? allotUser(join(host.folder, USERS), names.database, host.users) : null;
  const identities = uid === null ? refuseLinksTo(folders) : giveFolders(folders, uid);
  boundPod(groups, names, spec.limits, uid);
  enterGroup(groups, names.engine, run_folder);
  const ofProgram = [dirname(program.file), ...(program.folders ?? [])];
  const programs = [...ofProgram, process.execPath].filter((path) => !isSystemPath(path));
  const mounts: Sight[] = [
    ...systemSettings(),
    ...writeSettings(shown, spec.network === "internet", []),
    ...codeMounts(host.machine, shown, { folders, limits: spec.limits }),
    ...groups
      .entrances(names.code)
      .map((source, at): Sight => ({ source, target: `${PLACE}/groups/${at}`, mode: "write" })),
    ...programs.map((path): Sight => ({ source: path, target: path, mode: "read" })),
    ...folders.map(({ mode, path }): Sight => ({ source: path, target: path, mode: mode === "write" ? mode : "read" })),
  ];
  const gathered = [shown, ...ofProgram, dirname(process.execPath), ...folders.map(({ path }) => path)];
  const options = boxOptions({
    uid: POD_UID,
    programs: systemPrograms(),
    mounts: stageMounts(mounts, gathered, run_folder, isRoot, identities),
    temporary: { size_bytes: Math.floor(spec.limits.memory_mb * TEMPORARY_SHARE * BYTES_PER_MB) },
    network: spec.network === "none" ? "own" : "given",
    is_outer: true,
    cwd: "/",
    env: null,
  });
  writeFileSync(join(run_folder, "options"), optionsText(options), { mode: 0o600 });
  writeFileSync(join(run_folder, "filter"), seccompFilter(host.machine, "pod"), { mode: 0o600 });
  const network = entryNetwork(spec.network, []);
  const entry = entryCommand({ run_folder, uid, makes_tunnel: isTunnelClosed(), network });
  const nodeOptions = [...heapOptions(spec.limits), ...program.node_options];
  return [...entry, process.execPath, ...nodeOptions, program.file, ...spec.args.slice(1)];
}

/** Waits until the program runs. @throws pod_failed with the output of earlier steps when they end first */
async function waitForBegin(folder: string, record: PodRecord, run_folder: string, signal: AbortSignal): Promise<void> {
  const hasBegun = () => (statSync(join(run_folder, "begun"), { throwIfNoEntry: false })?.size ?? 0) > 0;
  for (const until = performance.now() + BEGIN_TIMEOUT_MS; !hasBegun(); await sleep(POLL_MS)) {
    signal.throwIfAborted();
    const hasEnded = readRun(folder, record).state === "exited" && !hasBegun();
    if (!hasEnded && performance.now() < until) continue;
    const lastLines = await readLastLines(record.log_folder, new Date(record.started_at), LAST_LINES);
    const ofNetwork = readFileSync(join(run_folder, "uplink.log"), "utf8").trim().split("\n").slice(-LAST_LINES);
    throw appError("pod_failed", {
      detail: `The sandbox of the pod ${record.id} could not be created: ${[...lastLines, ...ofNetwork].filter(Boolean).join("; ")}`,
      hint: "Restart the server with SERVICE_PODS=sandbox. It reports everything that this machine lacks",
    });
  }
}
