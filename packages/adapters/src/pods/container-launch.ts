import { closeSync, fchownSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import type { ContainerCreateOptions } from "dockerode";
import { identifyProcess, type ProcessIdentity } from "../processes/process-identity.ts";
import { readProcesses } from "../processes/process-table.ts";
import { attachContainer, demandEngine, type Engine } from "./engine-client.ts";
import { openOutput } from "./pod-log.ts";
import { readRunNumber } from "./pod-state.ts";
import type { Sight } from "./sandbox-layout.ts";

const NOTES = ["exit", "kills", "inside"] as const;
const POLL_MS = 2;
const START_TIMEOUT_MS = 20_000;
const INPUT_TIMEOUT_MS = 10_000;

/**
 * Makes the files into which a container's first process writes its notes, each of which it sees by itself: were it a folder,
 * who runs in there could put a link in the place of a file that we read.
 */
export function makeNotes(runFolder: string, uid: number): Sight[] {
  mkdirSync(runFolder, { recursive: true, mode: 0o700 });
  return NOTES.map((name) => {
    const path = join(runFolder, name);
    const file = openSync(path, "wx", 0o600);
    fchownSync(file, uid, uid);
    closeSync(file);
    return { source: path, target: path, mode: "write" };
  });
}

/** Begins the file for what a pod prints by itself, and gives it to the pod's user. */
export function giveOutput(logFolder: string, uid: number): void {
  const file = openOutput(logFolder);
  fchownSync(file, uid, uid);
  closeSync(file);
}

export interface ContainerStart {
  readonly run_folder: string;
  readonly input: string;
  /** Called with the container's first process before the program runs. @throws pod_failed */
  bound(pid: number): Promise<void>;
}

/**
 * Makes a container, starts it with its input and resolves when its program runs, to null when it has ended already. Writes down
 * which processes of this machine they are, as the shell of a plain process does.
 * @throws pod_failed; the abort's reason
 */
export async function launchContainer(
  engine: Engine,
  options: ContainerCreateOptions,
  { bound, input, run_folder: runFolder }: ContainerStart,
  signal: AbortSignal,
): Promise<ProcessIdentity | null> {
  const container = await demandEngine("make a container", engine.docker.createContainer(options));
  signal.throwIfAborted();
  const stdin = await attachContainer(engine, container.id, { stdin: true, output: false });
  // a program that ends without reading its input says why by how it ends
  stdin.on("error", () => undefined);
  let program: number | undefined;
  try {
    await demandEngine("start a container", container.start());
    const { State } = await demandEngine("look at a container", container.inspect());
    if (State.Pid > 0) writePid(runFolder, "shell", State.Pid);
    await bound(State.Pid);
    stdin.write("go\n");
    program = await waitForProgram(runFolder, State.Pid, signal);
    if (program !== undefined) writePid(runFolder, "program", program);
  } catch (error) {
    stdin.destroy();
    throw error;
  }
  const fed = new Promise<void>((resolve) => stdin.end(input, () => resolve())).then(() => void stdin.destroy());
  await Promise.race([fed, sleep(INPUT_TIMEOUT_MS, undefined, { ref: false })]);
  return program === undefined ? null : (identifyProcess(program) ?? null);
}

function writePid(runFolder: string, name: "shell" | "program", pid: number): void {
  writeFileSync(join(runFolder, name), `${pid}\n`, { mode: 0o600 });
}

/** The pid that the program has on this machine; undefined when it ended before anybody looked. @throws pod_failed */
async function waitForProgram(runFolder: string, shell: number, signal: AbortSignal): Promise<number | undefined> {
  for (const until = performance.now() + START_TIMEOUT_MS; performance.now() < until; await sleep(POLL_MS)) {
    signal.throwIfAborted();
    if (readRunNumber(runFolder, "exit") !== undefined) return undefined;
    const inside = readRunNumber(runFolder, "inside");
    const found = inside === undefined ? undefined : findInside(shell, inside);
    if (found !== undefined) return found;
    if (identifyProcess(shell) === undefined) break;
  }
  if (readRunNumber(runFolder, "exit") !== undefined) return undefined;
  throw appError("pod_failed", { detail: "The container ended before its program ran." });
}

/** A child of a container's first process by the pid that it has in there. */
function findInside(shell: number, inside: number): number | undefined {
  const children = readProcesses().filter(({ parent }) => parent === shell);
  return children.find(({ pid }) => innerPid(pid) === inside)?.pid;
}

function innerPid(pid: number): number | undefined {
  try {
    const pids = /^NSpid:(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
    return Number(pids?.trim().split(/\s+/).at(-1));
  } catch {
    // gone between two looks
    return undefined;
  }
}
