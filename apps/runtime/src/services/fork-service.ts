import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import type { ServiceSpec } from "@appdb/contract/service-spec";
import { writePrivateFile } from "@appdb/system/processes/private-files";

/** A program file with the options of Node that it needs. */
export interface ServiceProgram {
  readonly file: string;
  readonly node_options: readonly string[];
}

/**
 * Starts this program in the role `service`. What it needs to know goes by a private file, which it removes when it has
 * read it: environment variables and arguments can be seen by others.
 * @throws service_failed when the Node that runs this process is gone, with its virtual environment for example
 */
export function forkService(program: ServiceProgram, specFolder: string, spec: ServiceSpec): ChildProcess {
  demandNode();
  mkdirSync(specFolder, { recursive: true, mode: 0o700 });
  const file = join(specFolder, `${randomBytes(12).toString("hex")}.json`);
  writePrivateFile(file, JSON.stringify(spec));
  const child = spawn(process.execPath, [...program.node_options, program.file, "service", file], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    // Ctrl-C in a terminal reaches the daemon alone, which then stops its services in order
    detached: true,
    windowsHide: true,
  });
  // a process that died before it read the file leaves it to us
  child.once("exit", () => rmSync(file, { force: true }));
  child.once("error", () => rmSync(file, { force: true }));
  return child;
}

function demandNode(): void {
  if (existsSync(process.execPath)) return;
  throw appError("service_failed", {
    detail: `The daemon runs with a Node that is gone: there is no ${process.execPath} any more.`,
    hint: "Start the daemon with the one that there is: cli daemon restart",
    meta: { node: process.execPath },
  });
}
