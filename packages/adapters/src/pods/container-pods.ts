import { dirname, join } from "node:path";
import { proportionalMemory } from "../processes/process-table.ts";
import { codeSights, PLACE } from "./code-sandbox.ts";
import { type ContainerHost, containerNetwork, openContainerHost } from "./container-host.ts";
import { giveOutput, launchContainer, makeNotes } from "./container-launch.ts";
import { systemSights, toSights } from "./container-settings.ts";
import { POD_SHELL } from "./container-shells.ts";
import { containerOptions } from "./container-spec.ts";
import { endLeftTasks, runContainerTask } from "./container-task.ts";
import { demandEngine, removeContainer } from "./engine-client.ts";
import { createLocalPods, POD_ENVIRONMENT } from "./local-pods.ts";
import type { PodDriver, PodDriverInput, PodFolder, PodLabels, PodSpec } from "./pod-driver.ts";
import { type LaunchInput, MARKER } from "./pod-launch.ts";
import { outputFile } from "./pod-log.ts";
import { runFamily } from "./pod-run.ts";
import { type PodRecord, readRunNumber } from "./pod-state.ts";
import { giveFolders } from "./sandbox-folders.ts";
import { isOfSystem } from "./sandbox-reach.ts";
import { codeCommand } from "./sandbox-scripts.ts";
import { isFilterMachine } from "./seccomp-filter.ts";

/**
 * Pods as containers of an engine on this machine, each of a user of its database's own; within a pod the application's code has a
 * sandbox of its own, as in the driver `sandbox`. Pods are known by their processes like all of this machine; the engine is asked
 * only to make, to start and to remove them. Server and engine are root. See docs/pods.md.
 */
export async function createContainerPods(input: PodDriverInput): Promise<PodDriver> {
  const host = await openContainerHost(input);
  const { folder } = host;
  const runFolder = (record: PodRecord) => join(folder, record.id, record.run);

  return createLocalPods(input, {
    name: "container",
    isolates: true,
    admit: () => undefined,
    // its container is made as it is started
    prepare: async () => ({ argv: [], env: {} }),
    launch: (spec, launched, signal) => launchPod(host, input.program, spec, launched, signal),
    begun: async () => undefined,
    processes: () => [],
    memoryBytes: (record) => proportionalMemory(runFamily(folder, record).map(({ pid }) => pid)) ?? null,
    isOutOfMemory: (record, { signal }) => signal === "SIGKILL" && (readRunNumber(runFolder(record), "kills") ?? 0) > 0,
    async release(record) {
      await removeContainers(host, record.id);
      await (await host.about()).groups?.remove(groupOf(host, record.labels));
    },
    forgetDatabase: async (databaseId) => host.retire(databaseOwner(databaseId)),
    async run(task, signal) {
      await endLeftTasks(host);
      return await runContainerTask(host, task, signal);
    },
  });
}

async function launchPod(
  host: ContainerHost,
  program: PodDriverInput["program"],
  spec: PodSpec,
  { input, run, run_folder }: LaunchInput,
  signal: AbortSignal,
) {
  await removeContainers(host, spec.id);
  const { groups, image } = await host.about();
  const uid = host.userOf(databaseOwner(spec.labels.database_id));
  const notes = makeNotes(run_folder, uid);
  const folders = foldersOf(spec);
  giveFolders(folders, uid);
  giveOutput(spec.log_folder, uid);
  const shown = join(run_folder, "shown");
  const programs = [dirname(program.file), ...(program.folders ?? []), process.execPath].filter(
    (path) => !isOfSystem(path),
  );
  const { bound, network } = containerNetwork(spec.network, []);
  const launcher = isFilterMachine(process.arch) ? { SERVICE_POD_LAUNCHER: JSON.stringify(codeCommand(PLACE)) } : {};
  const options = containerOptions({
    image,
    name: nameOf({ id: spec.id, run }),
    labels: { "appdb.pods": host.owner, "appdb.pod": spec.id },
    argv: [
      "/bin/sh",
      "-c",
      POD_SHELL,
      "pod",
      run_folder,
      outputFile(spec.log_folder),
      process.execPath,
      ...program.node_options,
      program.file,
      ...spec.args.slice(1),
    ],
    env: { ...POD_ENVIRONMENT, ...launcher, [MARKER]: run },
    cwd: "/",
    uid,
    sights: [
      ...systemSights(shown, uid),
      ...(isFilterMachine(process.arch) ? codeSights(process.arch, shown, spec) : []),
      ...programs.map((path) => ({ source: path, target: path, mode: "read" }) as const),
      ...toSights(folders),
      ...notes,
    ],
    limits: spec.limits,
    network,
    security: await host.security("pod"),
    group: groups?.open(groupOf(host, spec.labels), spec.limits),
  });
  return await launchContainer(host.engine, options, { run_folder, input, bound }, signal);
}

/** Removes the container of a pod, and those that nobody remembers: the engine made them for somebody who was killed meanwhile. */
async function removeContainers({ engine, owner }: ContainerHost, id: string): Promise<void> {
  const filters = { label: [`appdb.pods=${owner}`, `appdb.pod=${id}`] };
  const found = await demandEngine("list containers", engine.docker.listContainers({ all: true, filters }));
  for (const { Id } of found) await removeContainer(engine, Id);
}

/** By whose name a database has its user. */
function databaseOwner(databaseId: string): string {
  return `database-${databaseId}`;
}

function nameOf({ id, run }: Pick<PodRecord, "id" | "run">): string {
  return `${id}-${run}`;
}

/** All pods of a database are bounded together. */
function groupOf({ owner }: ContainerHost, { database_id: databaseId }: PodLabels): string {
  return `${owner}-${databaseId}`;
}

function foldersOf({ folders, log_folder: logFolder, run_folder }: PodSpec): PodFolder[] {
  return [...folders, { path: run_folder, mode: "write" }, { path: logFolder, mode: "write" }];
}
