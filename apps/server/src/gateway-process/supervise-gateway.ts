import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type AppError, appError, fromProblem, parseProblem } from "@appdb/contract/errors";
import type { Logger } from "@appdb/engine/ports";
import { endProcess } from "@appdb/system/processes/end-process";
import type { ProcessIdentity } from "@appdb/system/processes/process-identity";
import { restartPause } from "@appdb/system/processes/restart-pause";
import type { Secret } from "@appdb/system/secret";
import { Gauge, type Registry } from "prom-client";
import { gatewayEnvironment, SERVER_PATHS, type ServerConfig } from "../config/config.ts";
import type { HealthProblem } from "../health/problems.ts";
import type { StandardOutput } from "../lifecycle/standard-output.ts";
import { askAbout, askMetrics, followLog } from "./ask-gateway.ts";
import { controlSocket } from "./control-socket.ts";
import { findGatewayProgram } from "./find-program.ts";
import { digestGateway } from "./settings-digest.ts";
import {
  adoptGateway,
  END_STEPS,
  type EndedGateway,
  type RunningGateway,
  startGatewayProcess,
} from "./start-gateway.ts";
import { ANSWER_MS, watchAnswers } from "./watch-answers.ts";

const LINES_SAID = 12;

/** The error of an ended gateway, with its own problem if it printed one. */
export function toStartError({ code, errors, output, signal }: EndedGateway): AppError {
  const problem = parseProblem(output.trim().split("\n").at(-1) ?? "");
  if (problem !== undefined) return fromProblem(problem);
  // the exit of a gateway that a previous server started is unknown
  const status = code === null ? " for an unknown reason" : ` with status ${code}`;
  const how = signal === null ? status : ` with signal ${signal}`;
  const lastLines = errors.trim().split("\n").slice(-LINES_SAID).join("\n");
  return appError("gateway_failed", {
    detail: `The gateway ended${how}${lastLines === "" ? "." : `:\n${lastLines}`}`,
    hint: "Read the log of the server. To start it without a gateway, set SERVICE_ROLES=control-plane,reconciler.",
    meta: { code, signal },
  });
}

const LOOK_MS = 20;
/** A gateway that ends sooner counts as failing: the pause before the next start grows. */
const LONG_ENOUGH_MS = 60_000;
/** How long a server waits for its gateway before it starts without one. */
const READY_MS = 30_000;
const FOLLOW_AGAIN_MS = 500;
const KILL_MS = 5_000;
const DOWN: HealthProblem = { code: "gateway_down", what: "The gateway does not answer. No service is reachable." };

export interface KeepGatewayDeps {
  /** With the home's real path. */
  readonly config: ServerConfig;
  readonly log: Logger;
  /** Takes the gateway's log. */
  readonly output: StandardOutput;
  readonly dsn: string;
  readonly master_key: Secret;
}

/** This server's gateway, in its own process. Disposal is for a failed start: an adopted gateway keeps running. */
export interface KeptGateway extends AsyncDisposable {
  /** Resolves when the gateway serves, or after a maximum wait. @throws the reason if it could not start */
  readonly ready: Promise<void>;
  isReady(): boolean;
  /** Empty while it does not run. */
  metrics(): Promise<string>;
  problems(): Promise<readonly HealthProblem[]>;
  /** Ends the gateway after its running requests, or after a timeout. */
  end(): Promise<void>;
  /** Leaves the gateway running for the next server of the home. */
  leave(): void;
}

/**
 * Keeps a gateway running. Adopts one that a killed server left if it is the same, restarts one that ends, and prints
 * its log. A first start that fails is not retried.
 */
export function superviseGateway(deps: KeepGatewayDeps): KeptGateway {
  const { config, dsn, log } = deps;
  const program = findGatewayProgram();
  const digest = digestGateway({ ...deps, program: program.file });
  const env = gatewayEnvironment({
    home: config.home,
    embedded_dsn: config.database.url === undefined ? dsn : undefined,
  });
  const socket = controlSocket(config);
  const locks = join(config.home, SERVER_PATHS.locks);
  const stopping = new AbortController();
  let current: ProcessIdentity | undefined;
  let isAdopted = false;
  let isReady = false;
  let hasServed = false;
  let tellReady: () => void = () => undefined;
  const served = new Promise<void>((resolve) => {
    tellReady = resolve;
  });
  const serve = () => {
    isReady = true;
    hasServed = true;
    tellReady();
  };
  const runOne = async () => {
    // later, it may belong to another server of this home: two servers would end each other's gateways forever
    const adopted = await adoptGateway({ locks, socket, digest, may_end: !hasServed, log });
    if (stopping.signal.aborted && adopted === undefined) return undefined;
    const running = adopted ?? startGatewayProcess(program, env);
    current = running.process;
    isAdopted = adopted !== undefined;
    const printed = printLog(running, socket, deps.output, serve);
    const watching = killUnresponsive(running, socket, stopping.signal, log);
    // a stop was requested during the search
    if (stopping.signal.aborted) await endCurrent();
    const ended = await running.ended;
    await watching;
    isReady = false;
    current = undefined;
    await printed;
    return { ended, is_ours: adopted === undefined };
  };
  const keep = async () => {
    let earlyExits = 0;
    while (!stopping.signal.aborted) {
      const startedAt = performance.now();
      const one = await runOne();
      if (one === undefined || stopping.signal.aborted) return;
      const { ended, is_ours: isOurs } = one;
      const cause = toStartError(ended);
      // another server's gateway started meanwhile: look again
      if (!hasServed && isOurs && cause.code !== "daemon_busy") throw cause;
      if (performance.now() - startedAt > LONG_ENOUGH_MS) earlyExits = 0;
      // after a long run, restart without a pause
      const pauseMs = earlyExits === 0 ? 0 : restartPause(earlyExits - 1);
      earlyExits += 1;
      const { code, signal } = ended;
      log.warn({ code, signal, said: cause.message, pause_ms: pauseMs }, "the gateway ended; starting it again");
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const endCurrent = async () => {
    if (current !== undefined) await endProcess(current, END_STEPS);
  };
  const kept = keep().catch((error: unknown) => {
    if (!hasServed) throw error;
    log.error({ err: error }, "the gateway will not be started again");
  });
  const late = sleep(READY_MS, undefined, { ref: false }).then(() => {
    if (!hasServed) log.warn({}, "the gateway does not serve yet; the server continues without it");
  });
  // callers of `ready` get the result; after an early stop there is none
  const ready = Promise.race([served, late, kept]);
  ready.catch(() => undefined);
  const stop = async () => {
    stopping.abort();
    await endCurrent();
    await kept.catch(() => undefined);
  };
  const leave = () => {
    stopping.abort();
    stopped ??= Promise.resolve();
  };
  let stopped: Promise<void> | undefined;
  const endOnce = () => {
    stopped ??= stop();
    return stopped;
  };
  return {
    ready,
    isReady: () => isReady,
    metrics: async () => (isReady ? ((await askMetrics(socket)) ?? "") : ""),
    problems: async () => (isReady ? (await askAbout(socket))?.problems : undefined) ?? [DOWN],
    end: endOnce,
    leave,
    async [Symbol.asyncDispose]() {
      if (isAdopted) leave();
      await endOnce();
    },
  };
}

/** Adds the gateway's state to `/metrics`. */
export function addGatewayMetrics(registry: Registry, gateway: Pick<KeptGateway, "isReady">): void {
  new Gauge({
    name: "appdb_gateway_up",
    help: "1 while this server's gateway serves.",
    registers: [registry],
    collect() {
      this.set(gateway.isReady() ? 1 : 0);
    },
  });
}

/**
 * Kills a gateway that served and has not answered for some seconds: it holds the ports, so none can take over. A
 * gateway that is stopping has its own timeout.
 */
async function killUnresponsive(
  { ended, process }: RunningGateway,
  socket: string,
  stopping: AbortSignal,
  log: Logger,
): Promise<void> {
  if (process === undefined) return;
  const over = new AbortController();
  void ended.then(() => over.abort());
  const signal = AbortSignal.any([over.signal, stopping]);
  const isThis = async () => (await askAbout(socket))?.pid === process.pid;
  // a starting gateway has its own timeout and ends automatically on failure
  while (!signal.aborted && !(await isThis())) {
    await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
  const isAlive = async () => (await askAbout(socket, ANSWER_MS))?.pid === process.pid;
  if (!(await watchAnswers({ ask: isAlive, signal }))) return;
  log.error({ gateway: process.pid }, "the gateway does not answer; killing and restarting it");
  await endProcess(process, [{ signal: "SIGKILL", wait_ms: KILL_MS }]);
}

/** Prints the gateway's log, from its start to its end, with the log of this process. */
async function printLog(
  running: RunningGateway,
  socket: string,
  output: StandardOutput,
  tellServes: () => void,
): Promise<void> {
  let hasEnded = false;
  void running.ended.then(() => {
    hasEnded = true;
  });
  const pid = running.process?.pid;
  while (!hasEnded && (await askAbout(socket))?.pid !== pid) await sleep(LOOK_MS);
  if (hasEnded) return;
  tellServes();
  while (!hasEnded) {
    await followLog(socket, (lines) => output.write(lines));
    if (!hasEnded) await Promise.race([running.ended, sleep(FOLLOW_AGAIN_MS)]);
  }
}
