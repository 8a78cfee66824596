import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import type { ProcessEntry, ProcessSystem } from "./process-system.ts";

const TIMEOUT_MS = 30_000;
/** PowerShell takes half a second, so a used pid counts as the same process for this long. */
const FRESH_MS = 1_000;
/** Last line of a complete answer. Without it, a failing PowerShell would look like a machine without processes. */
const END = "end";

/** A process as Windows reports it. */
interface WindowsProcess extends ProcessEntry {
  /** Windows time: units of 100 nanoseconds since 1601, UTC. */
  readonly started: string;
  readonly command_line: string;
}

export interface WindowsProcessesDeps {
  /** Runs a script of Windows PowerShell. @throws daemon_failed */
  powershell(script: string): string;
  /** Whether a pid is in use, without PowerShell. */
  isThere(pid: number): boolean;
  now(): number;
  readonly own_pid: number;
}

/**
 * Reads processes through CIM, the only source of start times on every Windows 10 and 11. `tasklist` has no start
 * times, and newer systems have no `wmic`.
 */
export function createWindowsProcesses(deps: WindowsProcessesDeps = systemDeps()): ProcessSystem {
  const known = new Map<number, { readonly read_at: number; readonly found: WindowsProcess | undefined }>();

  function find(pid: number): WindowsProcess | undefined {
    if (!deps.isThere(pid)) {
      known.delete(pid);
      return undefined;
    }
    const cached = known.get(pid);
    // this process keeps its pid while it runs
    if (cached !== undefined && (pid === deps.own_pid || deps.now() - cached.read_at < FRESH_MS)) return cached.found;
    const found = readAnswer(deps.powershell(cimScript(pid)))[0];
    known.set(pid, { read_at: deps.now(), found });
    return found;
  }

  return {
    started: (pid) => find(pid)?.started,
    commandLine: (pid) => find(pid)?.command_line || undefined,
    list: () =>
      readAnswer(deps.powershell(cimScript(undefined))).map(({ pid, parent, group, session }) => ({
        pid,
        parent,
        group,
        session,
      })),
  };
}

/**
 * Script that prints a line per process: pid, parent, start, and the command line in Base64, which code pages do not
 * change.
 */
export function cimScript(pid: number | undefined): string {
  const which = pid === undefined ? "" : ` -Filter 'ProcessId = ${pid}'`;
  return [
    "$ErrorActionPreference = 'Stop'; $ProgressPreference = 'SilentlyContinue'",
    `Get-CimInstance -ClassName Win32_Process${which} | Where-Object { $_.CreationDate } | ForEach-Object {`,
    "  $line = [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes([string]$_.CommandLine))",
    "  '{0} {1} {2} {3}' -f $_.ProcessId, $_.ParentProcessId, $_.CreationDate.ToFileTimeUtc(), $line",
    "}",
    `'${END}'`,
  ].join("\n");
}

/** @throws daemon_failed for an incomplete answer */
function readAnswer(answer: string): WindowsProcess[] {
  const lines = answer
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
  if (lines.pop() !== END) throw noReply(`PowerShell answered '${answer.trim().slice(0, 200)}'`);
  return lines.map((line) => {
    const [, pid, parent, started = "", encoded = ""] =
      /^(\d+) (\d+) (\d+) ?([A-Za-z0-9+/=]*)$/.exec(line) ?? ([] as (string | undefined)[]);
    if (pid === undefined) throw noReply(`PowerShell answered '${line.slice(0, 200)}'`);
    const number = Number(pid);
    const commandLine = Buffer.from(encoded, "base64").toString("utf8");
    // Windows has no process groups or sessions
    return { pid: number, parent: Number(parent), group: number, session: number, started, command_line: commandLine };
  });
}

function systemDeps(): WindowsProcessesDeps {
  return { powershell: runPowerShell, isThere: isPidUsed, now: () => performance.now(), own_pid: process.pid };
}

function runPowerShell(script: string): string {
  const program = windowsProgram("WindowsPowerShell", "v1.0", "powershell.exe");
  const encoded = Buffer.from(script, "utf16le").toString("base64");
  try {
    return execFileSync(program, ["-NoLogo", "-NoProfile", "-NonInteractive", "-EncodedCommand", encoded], {
      encoding: "latin1",
      timeout: TIMEOUT_MS,
      windowsHide: true,
      stdio: ["ignore", "pipe", "ignore"],
    });
  } catch (cause) {
    throw noReply(`${program} failed (${cause instanceof Error ? cause.message.split("\n")[0] : cause})`, cause);
  }
}

/** Full path of a Windows program. A bare name would be searched in the current folder first. */
export function windowsProgram(...parts: string[]): string {
  // biome-ignore lint/style/noProcessEnv: the folder of Windows belongs to the machine and is not a setting
  return join(process.env.SystemRoot ?? "C:\\Windows", "System32", ...parts);
}

function isPidUsed(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function noReply(what: string, cause?: unknown): Error {
  return appError("daemon_failed", {
    detail: `Windows does not say which processes run: ${what}.`,
    hint: "Check that this runs in PowerShell: Get-CimInstance Win32_Process",
    cause,
  });
}
