import { spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { LocalClient } from "@appdb/contract/clients/local-client";
import { type AppError, appError } from "@appdb/contract/errors";
import type { CliConfig } from "../config/config.ts";
import type { FoundDaemon } from "../context.ts";
import type { Program } from "../program.ts";
import { openDaemonLog, readLogFrom, requireSpace, sizeOfLog } from "./daemon-files.ts";

interface StartDaemonDeps {
  readonly config: Pick<CliConfig, "home" | "daemon_env">;
  readonly program: Program;
  find(): Promise<FoundDaemon | undefined>;
}

/** Creating a home takes some seconds, and more on a busy machine. A much longer start hangs. */
const START_TIMEOUT_MS = 60_000;
const POLL_MS = 15;

/**
 * Starts a daemon of the home and waits until it responds.
 * @throws daemon_failed with the last lines of its log; interrupted; home_not_writable; disk_full
 */
export async function startDaemon(deps: StartDaemonDeps, signal: AbortSignal): Promise<LocalClient> {
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
    const found = await deps.find();
    if (found !== undefined) return found.client;
    // After a clean end, another daemon has the home and will respond soon.
    if (end?.failed === true) {
      // the log may have no space for the reason
      requireSpace(home);
      throw startError(home, from, `it ended at once (${end.reason})`);
    }
    if (Date.now() > until) throw startError(home, from, `it did not respond within ${START_TIMEOUT_MS / 1000} s`);
    await sleep(POLL_MS);
  }
}

function startError(home: string, from: number, what: string): AppError {
  const lines = readLogFrom(home, from, 20).map(readable);
  const hint = lines.findLast((line) => line.startsWith("hint: "))?.slice(6);
  const messageLines = lines.filter((line) => !line.startsWith("hint: "));
  return appError("daemon_failed", {
    detail: `The daemon could not be started: ${what}.${messageLines.length === 0 ? "" : `\n${messageLines.map((line) => `  ${line}`).join("\n")}`}`,
    hint: hint ?? "Check this machine: cli doctor",
    meta: { home },
  });
}

/** A log line for display: the message of a JSON line. */
function readable(line: string): string {
  if (!line.startsWith("{")) return line;
  try {
    const entry = JSON.parse(line) as { level?: unknown; msg?: unknown; detail?: unknown };
    return [entry.level, entry.msg, entry.detail].filter((part) => typeof part === "string").join(" ");
  } catch {
    // An incomplete line is shown unchanged.
    return line;
  }
}
