import { randomBytes } from "node:crypto";
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { removeFolder } from "@appdb/system/files/remove-folder";
import { optionsText } from "@appdb/system/processes/bubblewrap-options";
import { identifyProcess, isProcessAlive, type ProcessIdentity } from "@appdb/system/processes/process-identity";
import { findFamily, killAll } from "@appdb/system/processes/process-table";
import { POD_ENVIRONMENT } from "../driver/local-pods.ts";
import type { PodExit } from "../driver/pod-driver.ts";
import { giveFolders, refuseLinksTo } from "../driver/pod-folders.ts";
import { allotUser, taskOwner } from "../driver/pod-users.ts";
import { runTask } from "../driver/process-task.ts";
import type { PodTask } from "../driver/task-runner.ts";
import { taskFileBytes } from "../driver/task-watch.ts";
import { enterGroup } from "./sandbox-bounds.ts";
import { writeSettings } from "./sandbox-files.ts";
import { entryNetwork, isTunnelClosed, type SandboxHost } from "./sandbox-host.ts";
import { boxOptions, CODE_UID, type Sight, systemPrograms, systemSettings } from "./sandbox-layout.ts";
import { findAllowedHosts } from "./sandbox-network.ts";
import { isSystemPath, stageMounts } from "./sandbox-reach.ts";
import { entryCommand } from "./sandbox-scripts.ts";
import { seccompFilter } from "./seccomp-filter.ts";

const TASKS = ".tasks";
/** A group's name must differ from the files in a group, such as `tasks`. */
const GROUPS = "task-groups";
const OWNER = "owner.json";
const KILL_TIMEOUT_MS = 10_000;
/** Unit of the shell's file size limit. */
const FILE_UNIT_BYTES = 512;

/**
 * Runs a task in its own sandbox as its organization's user, or the user that it names, with the limits of a pod. Its
 * first step already counts as application code. Its environment may contain secrets and is in no file or argument.
 * @throws pod_failed when it could not be started; the abort's reason
 */
export async function runSandboxTask(host: SandboxHost, task: PodTask, signal: AbortSignal): Promise<PodExit> {
  const { groups, is_root: isRoot } = host;
  const name = randomBytes(8).toString("hex");
  const group = `${GROUPS}/${name}`;
  const runFolder = join(host.folder, TASKS, name);
  const temporary = join(runFolder, "tmp");
  const allowed = await findAllowedHosts(task.allowed_hosts);
  try {
    makeRunFolder(runFolder, temporary);
    const uid = isRoot ? allotUser(join(host.folder, ".users"), taskOwner(task), host.users) : null;
    const identities = uid === null ? refuseLinksTo(task.folders) : giveFolders(task.folders, uid);
    if (uid !== null) chownSync(temporary, uid, uid);
    groups.make(group);
    groups.bound(group, task.limits);
    enterGroup(groups, group, runFolder);
    const blocks = Math.ceil(taskFileBytes(task.limits) / FILE_UNIT_BYTES);
    writeFileSync(join(runFolder, "size"), String(blocks));
    writeFileSync(join(runFolder, "filter"), seccompFilter(host.machine, "code"));
    const mounts: Sight[] = [
      ...systemSettings(),
      ...writeSettings(join(runFolder, "shown"), task.network === "internet", allowed),
      ...task.folders.map(
        ({ mode, path }): Sight => ({ source: path, target: path, mode: mode === "write" ? mode : "read" }),
      ),
      ...programSights(task),
    ];
    const folders = [
      join(runFolder, "shown"),
      temporary,
      dirname(task.program),
      ...task.folders.map(({ path }) => path),
    ];
    const reach = (visible: readonly Sight[]) =>
      stageMounts(visible, folders.filter(existsSync), runFolder, isRoot, identities);
    const options = boxOptions({
      uid: CODE_UID,
      programs: systemPrograms(),
      mounts: reach(mounts),
      temporary: { source: reach([{ source: temporary, target: "/tmp", mode: "write" }])[0]?.source ?? temporary },
      network: task.network === "none" ? "own" : "given",
      is_outer: false,
      cwd: task.cwd,
      env: task.env,
    });
    const network = entryNetwork(task.network, allowed);
    const argv = [
      ...entryCommand({ run_folder: runFolder, uid, makes_tunnel: isTunnelClosed(), network }),
      task.program,
      ...task.args,
    ];
    const how = {
      argv,
      env: POD_ENVIRONMENT,
      cwd: "/",
      options: optionsText(options),
      processes: () => groups.processes(group),
    };
    const watched = { ...task, folders: [...task.folders, { path: temporary, mode: "write" } as const] };
    const exit = await runTask(watched, how, signal);
    return { ...exit, is_out_of_memory: exit.code !== 0 && groups.memoryKills(group) > 0 };
  } finally {
    await endTask(host, name);
  }
}

/** Ends and removes tasks whose drivers were killed. */
export async function endLeftoverTasks(host: SandboxHost): Promise<void> {
  const folder = join(host.folder, TASKS);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  for (const name of names) if (!hasOwner(join(folder, name))) await endTask(host, name);
}

/** Created before its group, so that the next driver after a kill finds both. */
function makeRunFolder(runFolder: string, temporary: string): void {
  mkdirSync(join(runFolder, "gather"), { recursive: true, mode: 0o700 });
  writeFileSync(join(runFolder, OWNER), JSON.stringify(identifyProcess(process.pid)));
  mkdirSync(temporary, { mode: 0o700 });
}

function hasOwner(runFolder: string): boolean {
  try {
    return isProcessAlive(JSON.parse(readFileSync(join(runFolder, OWNER), "utf8")) as ProcessIdentity);
  } catch (error) {
    // killed before it was written
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

async function endTask({ folder, groups }: SandboxHost, name: string): Promise<void> {
  const group = `${GROUPS}/${name}`;
  await killAll(() => findFamily(groups.processes(group)), KILL_TIMEOUT_MS);
  await groups.remove(group);
  for (const above of [GROUPS, ""]) groups.removeIfEmpty(above);
  await removeFolder(join(folder, TASKS, name));
}

/** The program itself, when no visible folder contains it. */
function programSights({ folders, program }: PodTask): Sight[] {
  const isSeen = isSystemPath(program) || folders.some(({ path }) => program.startsWith(`${path}/`));
  return isSeen || !existsSync(program) ? [] : [{ source: program, target: program, mode: "read" }];
}
