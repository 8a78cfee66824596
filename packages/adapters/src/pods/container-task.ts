import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { removeFolder } from "../files/remove-folder.ts";
import { createLineSplitter } from "../processes/output-lines.ts";
import { identifyProcess, isAlive, type ProcessIdentity } from "../processes/process-identity.ts";
import { type ContainerHost, containerNetwork } from "./container-host.ts";
import { makeNotes } from "./container-launch.ts";
import { systemSights, toSights } from "./container-settings.ts";
import { TASK_SHELL } from "./container-shells.ts";
import { type ContainerInput, containerOptions } from "./container-spec.ts";
import { attachContainer, demandEngine, type Engine, removeContainer } from "./engine-client.ts";
import type { PodExit, PodTask } from "./pod-driver.ts";
import { exitOf, readRunNumber } from "./pod-state.ts";
import { taskOwner } from "./pod-users.ts";
import { giveFolders } from "./sandbox-folders.ts";
import { findAllowedHosts } from "./sandbox-network.ts";
import { isOfSystem } from "./sandbox-reach.ts";
import { type TaskWatch, taskFileBytes, watchTask } from "./task-watch.ts";

const TASKS = ".tasks";
/** Of a task's container, which process runs the task. */
const RUNNER = "appdb.runner";
/** As a shell says of a program that was ended by force: 128 and the signal's number. */
const KILLED_STATUS = 137;

/**
 * Runs a task in a container of its own, as a user of its organization's or the one that it names; it is the application's code from its first step. The
 * container is removed with everything in it when the task ends. Its temporary folder is in memory.
 * @throws pod_failed when it could not be started; the abort's reason
 */
export async function runContainerTask(host: ContainerHost, task: PodTask, signal: AbortSignal): Promise<PodExit> {
  signal.throwIfAborted();
  const name = `task-${randomBytes(8).toString("hex")}`;
  const notes = join(host.folder, TASKS, name);
  const { bound, network } = containerNetwork(task.network, await findAllowedHosts(task.allowed_hosts));
  try {
    const options = containerOptions(await boxOf(host, task, name, notes, network));
    await demandEngine("make a container", host.engine.docker.createContainer(options));
    return await runToEnd(host.engine, task, { name, notes, bound }, signal);
  } finally {
    await removeContainer(host.engine, name);
    await removeFolder(notes);
  }
}

/**
 * Removes containers of tasks whose runners were killed. What the engine says of such a container is not asked for: it may not
 * have seen yet that it ended, or never have started it.
 */
export async function endLeftTasks({ engine, folder, owner }: ContainerHost): Promise<void> {
  const filters = { label: [`appdb.pods=${owner}`, "appdb.task"] };
  const found = await demandEngine("list containers", engine.docker.listContainers({ all: true, filters }));
  for (const { Id, Labels, Names } of found) {
    if (isAlive(readRunner(Labels[RUNNER]))) continue;
    await removeContainer(engine, Id);
    for (const name of Names) await removeFolder(join(folder, TASKS, name.replace(/^\//, "")));
  }
}

function describeRunner(): string {
  return `${process.pid} ${identifyProcess(process.pid)?.started}`;
}

function readRunner(label = ""): ProcessIdentity {
  const [pid, started] = label.split(/ (.*)/);
  return { pid: Number(pid), started: started ?? "" };
}

async function boxOf(
  host: ContainerHost,
  task: PodTask,
  name: string,
  notes: string,
  network: ContainerInput["network"],
): Promise<ContainerInput> {
  const { image } = await host.about();
  const uid = host.userOf(taskOwner(task));
  const notesSeen = makeNotes(notes, uid);
  giveFolders(task.folders, uid);
  const isSeen = isOfSystem(task.program) || task.folders.some(({ path }) => task.program.startsWith(`${path}/`));
  return {
    image,
    name,
    uid,
    network,
    cwd: task.cwd,
    env: task.env,
    limits: task.limits,
    file_bytes: taskFileBytes(task.limits),
    labels: { "appdb.pods": host.owner, "appdb.task": task.id, [RUNNER]: describeRunner() },
    argv: ["/bin/sh", "-c", TASK_SHELL, "task", notes, task.program, ...task.args],
    sights: [
      ...systemSights(join(notes, "shown"), uid),
      ...(isSeen ? [] : toSights([{ path: task.program, mode: "read" }])),
      ...toSights(task.folders),
      ...notesSeen,
    ],
    security: await host.security("code"),
  };
}

interface TaskStart {
  readonly name: string;
  readonly notes: string;
  bound(pid: number): Promise<void>;
}

async function runToEnd(
  engine: Engine,
  task: PodTask,
  { bound, name, notes }: TaskStart,
  signal: AbortSignal,
): Promise<PodExit> {
  const container = engine.docker.getContainer(name);
  // its input is what it lives by: who runs it holds it open
  const streams = await attachContainer(engine, name, { stdin: true, output: true });
  const drained = readLines(engine, streams, task.onLine);
  const kill = () => {
    // whether it ends is seen by whoever waits for it
    container.kill({ signal: "SIGKILL" }).catch(() => undefined);
  };
  let watch: TaskWatch | undefined;
  try {
    await demandEngine("start a container", container.start());
    const { State } = await demandEngine("look at a container", container.inspect());
    await bound(State.Pid);
    // what it writes to its notes counts too
    const watched = { ...task, folders: [...task.folders, { path: notes, mode: "write" } as const] };
    watch = await watchTask(watched, kill);
    signal.addEventListener("abort", kill, { once: true });
    if (signal.aborted) kill();
    streams.write("go\n");
    const ended = await demandEngine("wait for a container", engine.patient.getContainer(name).wait());
    const watchedFor = await watch.finish();
    await drained;
    signal.throwIfAborted();
    // of a container that was killed on a busy machine Podman says 0 now and then: its shell wrote nothing down then
    const exit = exitOf(Number(ended.StatusCode) || (readRunNumber(notes, "exit") ?? KILLED_STATUS));
    const exceeded = watchedFor ?? exit.exceeded;
    const isOutOfMemory = exit.code !== 0 && exceeded === null && (readRunNumber(notes, "kills") ?? 0) > 0;
    return { ...exit, is_out_of_memory: isOutOfMemory, exceeded };
  } finally {
    signal.removeEventListener("abort", kill);
    await watch?.finish();
    streams.destroy();
  }
}

/** Reads both outputs to their ends. */
async function readLines(
  { docker }: Engine,
  streams: Awaited<ReturnType<typeof attachContainer>>,
  onLine: (line: string) => void,
): Promise<void> {
  const outputs = [new PassThrough(), new PassThrough()] as const;
  for (const output of outputs) {
    const lines = createLineSplitter(onLine);
    output.on("data", (bytes: Buffer) => lines.push(bytes));
    output.on("end", () => lines.end());
  }
  docker.modem.demuxStream(streams, ...outputs);
  await new Promise<void>((resolve) => {
    for (const event of ["error", "close", "end"]) streams.once(event, () => resolve());
  });
  await Promise.all(
    outputs.map((output) => {
      const ended = new Promise((resolve) => output.once("close", resolve));
      output.end();
      return ended;
    }),
  );
}
