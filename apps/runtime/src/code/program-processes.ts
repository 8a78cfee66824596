import { appError } from "@appdb/contract/errors";
import type { Program } from "@appdb/contract/program-code";
import { identifyProcess, isProcessAlive } from "@appdb/system/processes/process-identity";
import type { ProgramCode } from "./program-code.ts";

/** Owners of functions that are processes of this machine: `<pid>-<start>`. */
const OWNER = /^(\d+)-([0-9a-f]*)$/;

/** Stores the functions of a process. @throws invalid_request when it does not run here; disk_full */
export function storeProgram(programs: Pick<ProgramCode, "store">, { modules, pid }: Program): void {
  const owner = identifyProcess(pid);
  if (owner === undefined) throw noProcess(pid);
  // `started` is opaque text
  programs.store(`${owner.pid}-${Buffer.from(owner.started, "utf8").toString("hex")}`, modules);
}

/** Whether the process of an owner runs. */
export function isProcessOwnerAlive(owner: string): boolean {
  const [, pid, hex = ""] = OWNER.exec(owner) ?? [];
  return isProcessAlive({ pid: Number(pid), started: Buffer.from(hex, "hex").toString("utf8") });
}

function noProcess(pid: number): Error {
  return appError("invalid_request", {
    detail: `The process ${pid} does not run on the machine of the daemon.`,
    hint: "Send the pid of the calling process.",
    errors: [{ pointer: "/program/pid", detail: "No such process runs." }],
    meta: { pid },
  });
}
