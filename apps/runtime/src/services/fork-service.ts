import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import type { ServiceSpec } from "@appdb/contract/service-spec";
import { writePrivateFile } from "@appdb/system/processes/private-files";

/** A program file with its Node options. */
export interface ServiceProgram {
  readonly file: string;
  readonly node_options: readonly string[];
}

/**
 * Starts this program in the role `service`. Its spec goes through a private file, which it removes after reading,
 * because other users can see environment variables and arguments.
 * @throws service_failed when the Node of this process is gone, for example with its virtual environment
 */
export function forkService(program: ServiceProgram, specFolder: string, spec: ServiceSpec): ChildProcess {
  requireNodeBinary();
  mkdirSync(specFolder, { recursive: true, mode: 0o700 });
  const file = join(specFolder, `${randomBytes(12).toString("hex")}.json`);
  writePrivateFile(file, JSON.stringify(spec));
  const child = spawn(process.execPath, [...program.node_options, program.file, "service", file], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    // Ctrl-C in a terminal reaches only the daemon, which then stops its services
    detached: true,
    windowsHide: true,
  });
  // a process that died before reading the file leaves it to us
  child.once("exit", () => rmSync(file, { force: true }));
  child.once("error", () => rmSync(file, { force: true }));
  return child;
}

function requireNodeBinary(): void {
  if (existsSync(process.execPath)) return;
  throw appError("service_failed", {
    detail: `The Node of the daemon is gone: ${process.execPath} no longer exists.`,
    hint: "Restart the daemon with the current Node: cli daemon restart",
    meta: { node: process.execPath },
  });
}
