import { statfsSync } from "node:fs";
import { readFile, statfs } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "@appdb/engine/ports";
import { deletedBytes } from "@appdb/system/files/deleted-files";
import { type FolderUse, folderUse } from "@appdb/system/files/folder-size";
import { awaitIfExists } from "@appdb/system/files/read-if-exists";
import { findFamily, killAll, readProcesses } from "@appdb/system/processes/process-table";
import { emptyScratch } from "./own-folders.ts";

const LOOK_MS = 1_000;
/** The folder is measured when the disk has lost this much since the last time, and now and then. */
const NOTICED_BYTES = 256_000_000;
const LATEST_MS = 60_000;
const MAX_FILES = 100_000;
const KILL_MS = 5_000;
/** Files that cannot be seen are looked for again: a process that starts, or sends a descriptor, hides them for a moment. */
const HIDDEN_LOOKS = 5;
const HIDDEN_MS = 200;
/** The program of the sandbox in which an isolating driver runs the application's code. */
const SANDBOX = "bwrap";

export interface ScratchGuardInput {
  /** In which functions make files. */
  readonly folder: string;
  readonly max_bytes: number;
  readonly log: Logger;
  /** For tests: the program of the application's code. */
  readonly program?: string;
}

/**
 * Ends the application's code when the files that it makes need too much of the disk, those that it has deleted and
 * still holds open included, or when it hides files. Workers start again, and rows in progress fail. Nothing else bounds
 * what code writes.
 */
export function guardScratch({ folder, log, max_bytes: maxBytes, program = SANDBOX }: ScratchGuardInput): Disposable {
  let most = freeBytes(statfsSync(folder));
  let lookedAt = performance.now();
  let isLooking = false;

  async function look(): Promise<void> {
    const free = freeBytes(await statfs(folder));
    most = Math.max(most, free);
    if (most - free < Math.min(NOTICED_BYTES, maxBytes) && performance.now() - lookedAt < LATEST_MS) return;
    lookedAt = performance.now();
    most = free;
    const { bytes, files } = await measure(folder, program);
    if (bytes <= maxBytes && files <= MAX_FILES) return;
    if (Number.isFinite(bytes)) {
      log.warn({ bytes, files, limit_bytes: maxBytes }, "functions made too many files and were ended");
    } else {
      log.warn({ limit_bytes: maxBytes }, "functions had files that cannot be measured and were ended");
    }
    const code = await findCode(program);
    await killAll(() => findFamily(code), KILL_MS);
    await emptyScratch(folder);
  }

  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    void look()
      .catch((error: unknown) => log.warn({ err: error }, "the files of functions could not be measured"))
      .finally(() => {
        isLooking = false;
      });
  }, LOOK_MS);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Infinite bytes mean files that stayed hidden. */
async function measure(folder: string, program: string): Promise<FolderUse> {
  for (let looks = 1; ; looks += 1) {
    const { bytes: listed, files } = await folderUse([folder], { max_files: MAX_FILES });
    const bytes = listed + deletedBytes([folder], await findCode(program));
    if (Number.isFinite(bytes) || looks >= HIDDEN_LOOKS) return { bytes, files };
    await sleep(HIDDEN_MS);
  }
}

function freeBytes({ bavail, bsize }: { readonly bavail: number; readonly bsize: number }): number {
  return bavail * bsize;
}

/** Our children that run the application's code. */
async function findCode(program: string): Promise<number[]> {
  const children = readProcesses().filter(({ parent }) => parent === process.pid);
  const names = await Promise.all(children.map(({ pid }) => awaitIfExists(readFile(`/proc/${pid}/comm`, "utf8"))));
  return children.flatMap(({ pid }, at) => (names[at]?.trim() === program ? [pid] : []));
}
