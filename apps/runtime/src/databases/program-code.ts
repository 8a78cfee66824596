import { createHash } from "node:crypto";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { isProgramModule, type Program, programModule } from "@appdb/contract/program-code";
import type { Runtime } from "@appdb/contract/runtime";
import { makePrivateFolder } from "@appdb/system/files/private-folder";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import { identifyProcess, isProcessAlive, type ProcessIdentity } from "@appdb/system/processes/process-identity";

const FOLDER = /^(\d+)-([0-9a-f]*)$/;

/** What workers import in place of the program's own module. */
const LOADER = `"""Functions of a program. The daemon deletes this file when the program has ended."""

from appdb.worker.programs import load

load(globals())
`;

/**
 * Functions of running programs: each program has a private folder, named by its process, with a module and its content
 * for each function. Workers get the folders on their import path. Content is never read here.
 */
export class ProgramCode {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Stores the modules of a program. @throws invalid_request when its process does not run here; disk_full */
  store({ modules, pid }: Program): void {
    const owner = identifyProcess(pid);
    if (owner === undefined) throw noProcess(pid);
    const folder = join(this.#folder, folderOf(owner));
    makePrivateFolder(folder);
    for (const content of modules) {
      const module = programModule(createHash("sha256").update(Buffer.from(content, "base64")).digest("hex"));
      const path = join(folder, `${module}.py`);
      if (existsSync(path)) continue;
      writePrivateFile(join(folder, `${module}.content`), content);
      writePrivateFile(path, LOADER);
    }
  }

  /** A runtime whose workers also import these modules of programs. Modules of ended programs are missing there. */
  extend(runtime: Runtime, modules: readonly string[]): Runtime {
    const wanted = modules.filter(isProgramModule);
    if (wanted.length === 0) return runtime;
    const folders = this.#owners()
      .filter(([, owner]) => isProcessAlive(owner))
      .map(([folder]) => folder)
      .filter((folder) => wanted.some((module) => existsSync(join(folder, `${module}.py`))));
    return { ...runtime, library_paths: [...runtime.library_paths, ...folders] };
  }

  /** Deletes the code of programs that have ended; returns whether there was any. */
  sweep(): boolean {
    const ended = this.#owners().filter(([, owner]) => !isProcessAlive(owner));
    for (const [folder] of ended) rmSync(folder, { recursive: true, force: true });
    return ended.length > 0;
  }

  #owners(): [folder: string, owner: ProcessIdentity][] {
    if (!existsSync(this.#folder)) return [];
    return readdirSync(this.#folder).map((name) => {
      const [, pid, hex = ""] = FOLDER.exec(name) ?? [];
      const started = Buffer.from(hex, "hex").toString("utf8");
      return [join(this.#folder, name), { pid: Number(pid), started }];
    });
  }
}

/** `started` is opaque text, so it is written as hex. */
function folderOf({ pid, started }: ProcessIdentity): string {
  return `${pid}-${Buffer.from(started, "utf8").toString("hex")}`;
}

function noProcess(pid: number): Error {
  return appError("invalid_request", {
    detail: `The process ${pid} does not run on the machine of the daemon.`,
    hint: "Send the pid of the calling process.",
    errors: [{ pointer: "/program/pid", detail: "No such process runs." }],
    meta: { pid },
  });
}
