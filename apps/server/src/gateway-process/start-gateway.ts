import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "@appdb/engine/ports";
import { type EndStep, endProcess } from "@appdb/system/processes/end-process";
import { findLockOwner } from "@appdb/system/processes/numbered-lock";
import { identifyProcess, isProcessAlive, type ProcessIdentity } from "@appdb/system/processes/process-identity";
import { type AboutGateway, askAbout } from "./ask-gateway.ts";
import { GATEWAY_LOCK } from "./control-socket.ts";
import type { GatewayProgram } from "./find-program.ts";

const LOOK_MS = 100;
/** For one that runs to say what it does: on a machine that is busy, as after a crash, it is late, and ending it would stop all services. */
const TELL_MS = 10_000;
/** Of what it says on its standard error, and on its output when it cannot start. */
const SAID_CHARACTERS = 4_000;

/** Its own time for requests that are under way, and some more; then without mercy. */
export const END_STEPS: readonly EndStep[] = [
  { signal: "SIGTERM", wait_ms: 13_000 },
  { signal: "SIGKILL", wait_ms: 5_000 },
];

/** How a gateway has ended. */
export interface EndedGateway {
  readonly code: number | null;
  readonly signal: string | null;
  /** Why it could not be started, as a problem document a line. */
  readonly output: string;
  readonly errors: string;
}

export interface RunningGateway {
  /** Undefined when it could not be started, or has ended at once. */
  readonly process: ProcessIdentity | undefined;
  readonly ended: Promise<EndedGateway>;
}

export interface FindGatewayInput {
  /** Of the home. */
  readonly locks: string;
  readonly socket: string;
  readonly digest: string;
  /** Another one than ours would be is ended. */
  readonly may_end: boolean;
  readonly log: Logger;
}

/** The gateway that a former server of the home left, when it does what ours would; any other one is ended first. */
export async function adoptGateway(input: FindGatewayInput): Promise<RunningGateway | undefined> {
  const { digest, log, may_end: mayEnd, socket } = input;
  const owner = findLockOwner(input.locks, GATEWAY_LOCK);
  if (owner === undefined) return undefined;
  const about = await askAlive(owner, socket);
  if (!mayEnd || (about?.pid === owner.pid && about.digest === digest)) {
    log.info({ gateway: owner.pid }, "the gateway that runs already goes on");
    return { process: owner, ended: watchEnd(owner) };
  }
  log.info({ gateway: owner.pid }, "the gateway that runs already is another one than this server's: it is ended");
  await endProcess(owner, END_STEPS);
  return undefined;
}

async function askAlive(owner: ProcessIdentity, socket: string): Promise<AboutGateway | undefined> {
  const until = performance.now() + TELL_MS;
  for (;;) {
    const about = await askAbout(socket);
    if (about !== undefined || !isProcessAlive(owner) || performance.now() > until) return about;
    await sleep(LOOK_MS);
  }
}

async function watchEnd(owner: ProcessIdentity): Promise<EndedGateway> {
  while (isProcessAlive(owner)) await sleep(LOOK_MS);
  return { code: null, signal: null, output: "", errors: "" };
}

/** Starts one, in a session of its own: what is sent to the server's terminal or group is not for it. */
export function startGatewayProcess(
  { file, node_options: nodeOptions }: GatewayProgram,
  env: NodeJS.ProcessEnv,
): RunningGateway {
  const child = spawn(process.execPath, [...nodeOptions, file], {
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = hearEnd(child);
  return { process: child.pid === undefined ? undefined : identifyProcess(child.pid), ended };
}

function hearEnd(child: ChildProcess): Promise<EndedGateway> {
  const said = { output: "", errors: "" };
  for (const [name, stream] of [["output", child.stdout] as const, ["errors", child.stderr] as const]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      said[name] = (said[name] + text).slice(-SAID_CHARACTERS);
    });
  }
  return new Promise((resolve) => {
    child.once("error", ({ message }) => resolve({ code: null, signal: null, output: "", errors: message }));
    // when what it said was read too
    child.once("close", (code, signal) => resolve({ code, signal, ...said }));
  });
}
