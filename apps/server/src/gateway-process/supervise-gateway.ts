import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "@appdb/engine/ports";
import { endProcess } from "@appdb/system/processes/end-process";
import type { ProcessIdentity } from "@appdb/system/processes/process-identity";
import { restartPause } from "@appdb/system/processes/restart-pause";
import type { Secret } from "@appdb/system/secret";
import { Gauge, type Registry } from "prom-client";
import { gatewayEnvironment, SERVER_PATHS, type ServerConfig } from "../config/config.ts";
import type { HealthProblem } from "../health/problems.ts";
import { askAbout, askMetrics, followLog } from "./ask-gateway.ts";
import { controlSocket } from "./control-socket.ts";
import { findGatewayProgram } from "./find-program.ts";
import { digestGateway } from "./settings-digest.ts";
import { toStartError } from "./start-error.ts";
import { adoptGateway, END_STEPS, type RunningGateway, startGatewayProcess } from "./start-gateway.ts";
import { ANSWER_MS, watchAnswers } from "./watch-answers.ts";

const LOOK_MS = 20;
/** One that ends sooner has ended quickly: the pause before the next is longer. */
const LONG_ENOUGH_MS = 60_000;
/** How long a server waits for its gateway before it goes on without. */
const READY_MS = 30_000;
const FOLLOW_AGAIN_MS = 500;
const KILL_MS = 5_000;
const DOWN: HealthProblem = { code: "gateway_down", what: "The gateway does not answer: no service is served." };

export interface KeepGatewayDeps {
  /** With the home's real path. */
  readonly config: ServerConfig;
  readonly log: Logger;
  readonly dsn: string;
  readonly master_key: Secret;
}

/** The gateway of this server, in a process of its own. Disposing of it is for a server that does not come up: one that a former server left goes on. */
export interface KeptGateway extends AsyncDisposable {
  /** Resolves when it serves, or when that takes too long to wait for. @throws why it could not be started */
  readonly ready: Promise<void>;
  isReady(): boolean;
  /** Empty while it does not run. */
  metrics(): Promise<string>;
  problems(): Promise<readonly HealthProblem[]>;
  /** Ends it, when requests that are under way have, or after their time. */
  end(): Promise<void>;
  /** Leaves it to the next server of the home, in place of its end. */
  leave(): void;
}

/**
 * Has a gateway run: one that a killed server left is taken over when it is what would be started, one that ends
 * by itself is started again. What it logs is printed here. A first one that cannot start is not tried again.
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
    // later it is another server's of this home: two that end each other's would not stop
    const left = await adoptGateway({ locks, socket, digest, may_end: !hasServed, log });
    if (stopping.signal.aborted && left === undefined) return undefined;
    const running = left ?? startGatewayProcess(program, env);
    current = running.process;
    isAdopted = left !== undefined;
    const printed = printLog(running, socket, serve);
    const watching = killHung(running, socket, stopping.signal, log);
    // it was asked to stop while one was looked for
    if (stopping.signal.aborted) await endCurrent();
    const ended = await running.ended;
    await watching;
    isReady = false;
    current = undefined;
    await printed;
    return { ended, is_ours: left === undefined };
  };
  const keep = async () => {
    let quickEnds = 0;
    while (!stopping.signal.aborted) {
      const began = performance.now();
      const one = await runOne();
      if (one === undefined || stopping.signal.aborted) return;
      const { ended, is_ours: isOurs } = one;
      const cause = toStartError(ended);
      // another server's, which has begun meanwhile, is looked at again
      if (!hasServed && isOurs && cause.code !== "daemon_busy") throw cause;
      if (performance.now() - began > LONG_ENOUGH_MS) quickEnds = 0;
      // of one that had served for long, nobody waits for more than its start
      const pauseMs = quickEnds === 0 ? 0 : restartPause(quickEnds - 1);
      quickEnds += 1;
      const { code, signal } = ended;
      log.warn({ code, signal, said: cause.message, pause_ms: pauseMs }, "the gateway has ended; it is started again");
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const endCurrent = async () => {
    if (current !== undefined) await endProcess(current, END_STEPS);
  };
  const kept = keep().catch((error: unknown) => {
    if (!hasServed) throw error;
    log.error({ err: error }, "the gateway is not started again");
  });
  const late = sleep(READY_MS, undefined, { ref: false }).then(() => {
    if (!hasServed) log.warn({}, "the gateway does not serve yet; the server goes on without");
  });
  // who waits is told; a server that stops before is told nothing
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

/** Tells `/metrics` whether the gateway runs. */
export function addGatewayMetrics(registry: Registry, gateway: Pick<KeptGateway, "isReady">): void {
  new Gauge({
    name: "appdb_gateway_up",
    help: "1 while the gateway of this server serves.",
    registers: [registry],
    collect() {
      this.set(gateway.isReady() ? 1 : 0);
    },
  });
}

/**
 * Kills a gateway that serves and then answers nothing for some seconds: it holds the ports, and no other one can take over. One that is
 * asked to stop has a time of its own.
 */
async function killHung(
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
  // what starts has its own time, and ends by itself when it cannot
  while (!signal.aborted && !(await isThis())) {
    await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
  const isAlive = async () => (await askAbout(socket, ANSWER_MS))?.pid === process.pid;
  if (!(await watchAnswers({ ask: isAlive, signal }))) return;
  log.error({ gateway: process.pid }, "the gateway does not answer: it is killed and started again");
  await endProcess(process, [{ signal: "SIGKILL", wait_ms: KILL_MS }]);
}

/** Prints what it logs from when it serves to its end, among the lines of this process. */
async function printLog(running: RunningGateway, socket: string, tellServes: () => void): Promise<void> {
  let hasEnded = false;
  void running.ended.then(() => {
    hasEnded = true;
  });
  const pid = running.process?.pid;
  while (!hasEnded && (await askAbout(socket))?.pid !== pid) await sleep(LOOK_MS);
  if (hasEnded) return;
  tellServes();
  while (!hasEnded) {
    await followLog(socket, (lines) => process.stdout.write(lines));
    if (!hasEnded) await Promise.race([running.ended, sleep(FOLLOW_AGAIN_MS)]);
  }
}
