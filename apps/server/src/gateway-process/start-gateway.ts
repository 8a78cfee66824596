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
/** Maximum wait for a running gateway. It answers late on a busy machine, and ending it would stop all services. */
const TELL_MS = 10_000;
/** Maximum characters kept of its standard error, and of its output when it cannot start. */
const SAID_CHARACTERS = 4_000;

/** More than its own time for running requests, then SIGKILL. */
export const END_STEPS: readonly EndStep[] = [
  { signal: "SIGTERM", wait_ms: 13_000 },
  { signal: "SIGKILL", wait_ms: 5_000 },
];

/** How a gateway ended. */
export interface EndedGateway {
  readonly code: number | null;
  readonly signal: string | null;
  /** Why it could not start: one problem document per line. */
  readonly output: string;
  readonly errors: string;
}

export interface RunningGateway {
  /** Undefined if it could not start or ended at once. */
  readonly process: ProcessIdentity | undefined;
  readonly ended: Promise<EndedGateway>;
}

export interface FindGatewayInput {
  /** The home's lock folder. */
  readonly locks: string;
  readonly socket: string;
  readonly digest: string;
  /** Whether a gateway that differs from ours may be ended. */
  readonly may_end: boolean;
  readonly log: Logger;
}

/** Adopts the gateway that a previous server of the home left, if it does what ours would. Otherwise ends it. */
export async function adoptGateway(input: FindGatewayInput): Promise<RunningGateway | undefined> {
  const { digest, log, may_end: mayEnd, socket } = input;
  const owner = findLockOwner(input.locks, GATEWAY_LOCK);
  if (owner === undefined) return undefined;
  const about = await askAlive(owner, socket);
  if (!mayEnd || (about?.pid === owner.pid && about.digest === digest)) {
    log.info({ gateway: owner.pid }, "continuing with the running gateway");
    return { process: owner, ended: watchEnd(owner) };
  }
  log.info({ gateway: owner.pid }, "ending the running gateway: it differs from this server's");
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

/** Starts a gateway in its own session, so that signals to the server's terminal or group do not reach it. */
export function startGatewayProcess(
  { file, node_options: nodeOptions }: GatewayProgram,
  env: NodeJS.ProcessEnv,
): RunningGateway {
  const child = spawn(process.execPath, [...nodeOptions, file], {
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = awaitEnd(child);
  return { process: child.pid === undefined ? undefined : identifyProcess(child.pid), ended };
}

function awaitEnd(child: ChildProcess): Promise<EndedGateway> {
  const streams = { output: "", errors: "" };
  for (const [name, stream] of [["output", child.stdout] as const, ["errors", child.stderr] as const]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      streams[name] = (streams[name] + text).slice(-SAID_CHARACTERS);
    });
  }
  return new Promise((resolve) => {
    child.once("error", ({ message }) => resolve({ code: null, signal: null, output: "", errors: message }));
    // after its output was read
    child.once("close", (code, signal) => resolve({ code, signal, ...streams }));
  });
}
