import { spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createLocalClient, type LocalClient } from "@appdb/contract/clients/local-client";
import { AppError, appError } from "@appdb/contract/errors";
import { compareVersions, VERSION } from "@appdb/contract/version";
import type { CliConfig } from "../config/config.ts";
import type { FoundDaemon } from "../context.ts";
import type { Program } from "../program.ts";
import { openDaemonLog, readDaemonAddress, readLogFrom, sizeOfLog } from "./daemon-files.ts";
import { isDaemonAlive } from "./is-daemon-alive.ts";
import { nodeFetch } from "./node-fetch.ts";

export interface EnsureDaemonDeps {
  readonly config: Pick<CliConfig, "home" | "daemon_env">;
  readonly program: Program;
  /** A word to the person: starting a daemon on an empty home takes a second or two. */
  readonly note: (text: string) => void;
  /** What `findDaemon` answers, when it was asked a moment ago. */
  readonly found?: Promise<FoundDaemon | undefined> | undefined;
}

/** A home that is made first takes some seconds; far more means that something hangs. */
const START_TIMEOUT_MS = 20_000;
/** Longer than a daemon gives its services and its PostgreSQL, which after hundreds of new databases writes for half a minute. */
const STOP_TIMEOUT_MS = 60_000;
const POLL_MS = 15;

/** A client of the home's daemon, which is started when none answers. However many commands start at once, the home's
 *  lock leaves one daemon, and all of them find it. An older daemon that is idle is replaced.
 *  @throws daemon_failed with the last lines of its log; daemon_busy; home_not_writable */
export async function ensureDaemon(deps: EnsureDaemonDeps, signal: AbortSignal): Promise<LocalClient> {
  const found = await (deps.found ?? findDaemon(deps));
  if (found === undefined) return await startDaemon(deps, signal);
  if (compareVersions(found.health.version, VERSION) >= 0) return found.client;
  if (found.health.busy > 0) throw busyError(found);
  deps.note(`The daemon is of version ${found.health.version}; it is replaced by ${VERSION}.`);
  await found.client.call("stop", {}, { signal });
  await waitUntilGone(found.file.pid);
  return await startDaemon(deps, signal);
}

/** The home's daemon when it answers; undefined when there is none. Starts nothing. @throws daemon_failed */
export async function findDaemon(deps: Pick<EnsureDaemonDeps, "config">): Promise<FoundDaemon | undefined> {
  const address = readDaemonAddress(deps.config.home);
  if (address === undefined) return undefined;
  const client = createLocalClient({ port: address.file.port, token: address.token, fetch: nodeFetch });
  try {
    const health = await client.call("health", {}, { signal: AbortSignal.timeout(5_000) });
    return { file: address.file, client, health };
  } catch (error) {
    // Nobody listens, or a stranger has the port by now and does not know the token: the file is of a daemon that is gone.
    const gone = error instanceof AppError && (error.code === "daemon_not_running" || error.code === "unauthorized");
    if (gone || !isDaemonAlive(address.file.pid)) return undefined;
    throw error;
  }
}

/** Waits until a daemon's process is gone. @throws daemon_failed when it is not within a minute */
export async function waitUntilGone(pid: number): Promise<void> {
  const until = Date.now() + STOP_TIMEOUT_MS;
  while (isDaemonAlive(pid)) {
    if (Date.now() > until) {
      throw appError("daemon_failed", {
        detail: `The daemon (process ${pid}) did not stop within ${STOP_TIMEOUT_MS / 1000} s.`,
        hint: "Find its log: cli daemon status",
        meta: { pid },
      });
    }
    await sleep(POLL_MS);
  }
}

async function startDaemon(deps: EnsureDaemonDeps, signal: AbortSignal): Promise<LocalClient> {
  const { home } = deps.config;
  const log = openDaemonLog(home);
  const from = sizeOfLog(home);
  const [command, ...args] = deps.program.pod(["local"]);
  const child = spawn(command, args, {
    cwd: home,
    detached: true,
    windowsHide: true,
    stdio: ["ignore", log, log],
    env: { ...deps.config.daemon_env, SERVICE_HOME: home },
  });
  closeSync(log);
  let end: { reason: string; failed: boolean } | undefined;
  child.on("error", (error) => {
    end = { reason: error.message, failed: true };
  });
  child.on("exit", (code, by) => {
    end = { reason: code === null ? `ended by ${by}` : `exit code ${code}`, failed: code !== 0 };
  });
  child.unref();

  const until = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    if (signal.aborted) throw appError("interrupted", { detail: "The command was interrupted." });
    const found = await findDaemon(deps);
    if (found !== undefined) return found.client;
    // One that ended well left the home to another daemon, which will answer soon.
    if (end?.failed === true) throw startError(home, from, `it ended at once (${end.reason})`);
    if (Date.now() > until) throw startError(home, from, `it did not answer within ${START_TIMEOUT_MS / 1000} s`);
    await sleep(POLL_MS);
  }
}

function startError(home: string, from: number, what: string): AppError {
  const lines = readLogFrom(home, from, 20).map(readable);
  const hint = lines.findLast((line) => line.startsWith("hint: "))?.slice(6);
  const said = lines.filter((line) => !line.startsWith("hint: "));
  return appError("daemon_failed", {
    detail: `The daemon could not be started: ${what}.${said.length === 0 ? "" : `\n${said.map((line) => `  ${line}`).join("\n")}`}`,
    hint: hint ?? "Check this machine: cli doctor",
    meta: { home },
  });
}

/** A line of the log as a person reads it: the message of a JSON line. */
function readable(line: string): string {
  if (!line.startsWith("{")) return line;
  try {
    const entry = JSON.parse(line) as { level?: unknown; msg?: unknown; detail?: unknown };
    return [entry.level, entry.msg, entry.detail].filter((part) => typeof part === "string").join(" ");
  } catch {
    // A line that was cut short is shown as it is.
    return line;
  }
}

function busyError(found: FoundDaemon): AppError {
  const { version, busy, services } = found.health;
  return appError("daemon_busy", {
    detail: `The daemon has version ${version} and this command ${VERSION}. The daemon is busy (${busy} running, ${services} of them services).`,
    hint: "Replace it when that work can stop: cli daemon restart",
    meta: { daemon_version: version, version: VERSION, busy, services },
  });
}
