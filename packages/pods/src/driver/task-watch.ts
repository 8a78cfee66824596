import { statfs } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { deletedBytes } from "@appdb/system/files/deleted-files";
import { folderUse } from "@appdb/system/files/folder-size";
import type { PodExit } from "./pod-driver.ts";
import type { PodTask } from "./task-runner.ts";

/**
 * A single file may exceed the task's limit by this much. Growth is checked periodically, and the kernel's file limit
 * applies in between.
 */
const FILE_SPARE_BYTES = 64 * 1024 * 1024;
const FIRST_PAUSE_MS = 200;
/** Limits the share of time spent scanning large folders. */
const PAUSES_PER_LOOK = 5;
/** Space that others may free while a task runs. It would hide the same amount written by the task. */
const FREED_MEANWHILE = { bytes: 2 * 1024 ** 3, files: 100_000 };
/** File systems stamp files with a coarser clock than ours. */
const TICK_MS = 20;

/**
 * Enforces the limits that nothing else enforces: a task's time and its writes. Calls `end` when the task exceeds one.
 * Scans the folders five times a second, less often when a scan is slow, and once after the end. It skips scans while
 * the disks have lost less space than the limit, because package caches have too many files to scan for each build.
 */
export async function watchTask(task: Pick<PodTask, "folders" | "limits">, end: () => void): Promise<TaskWatch> {
  const { disk_bytes: diskBytes, files: maxFiles, timeout_ms: timeoutMs } = task.limits;
  const folders = task.folders.filter(({ mode }) => mode === "write").map(({ path }) => path);
  const started = new Date(Date.now() - TICK_MS);
  const free = await findFree(folders);
  const stopping = new AbortController();
  let exceeded: PodExit["exceeded"] = null;

  function exceed(limit: PodExit["exceeded"]): void {
    exceeded ??= limit;
    stopping.abort();
    end();
  }

  async function findExceeded(): Promise<"disk" | "files" | null> {
    const disks = [...(await findFree(folders))];
    const lost = (kind: "bytes" | "files") =>
      sum(disks.map(([disk, now]) => Math.max(0, (free.get(disk) ?? now)[kind] - now[kind]))) + FREED_MEANWHILE[kind];
    if (lost("bytes") < diskBytes && lost("files") < maxFiles) return null;
    const used = await folderUse(folders, { max_files: maxFiles, written_since: started });
    if (used.files > maxFiles) return "files";
    // deleted files that are still open are in no folder but use disk space
    return used.bytes + deletedBytes(folders) > diskBytes ? "disk" : null;
  }

  const timer = setTimeout(() => exceed("time"), timeoutMs);
  const looking = look();

  async function look(): Promise<void> {
    for (let pauseMs = FIRST_PAUSE_MS; !stopping.signal.aborted; ) {
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return;
      const lookedAt = performance.now();
      const limit = await findExceeded();
      if (limit !== null) exceed(limit);
      pauseMs = Math.max(FIRST_PAUSE_MS, PAUSES_PER_LOOK * (performance.now() - lookedAt));
    }
  }

  return {
    async finish() {
      clearTimeout(timer);
      stopping.abort();
      await looking;
      return exceeded ?? (await findExceeded());
    },
  };
}

/** Maximum size of a single file, enforced by the kernel, because a task writes faster than its folders are scanned. */
export function taskFileBytes({ disk_bytes: diskBytes }: Pick<PodTask["limits"], "disk_bytes">): number {
  return diskBytes + FILE_SPARE_BYTES;
}

/** Free space by file system. A file system that creates inodes on demand reports no loss of inodes. */
async function findFree(folders: readonly string[]): Promise<Map<string, { bytes: number; files: number }>> {
  const disks = await Promise.all(folders.map((folder) => statfs(folder)));
  return new Map(
    disks.map(({ bavail, blocks, bsize, ffree, type }) => [
      `${type}:${blocks}`,
      { bytes: bavail * bsize, files: ffree },
    ]),
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

export interface TaskWatch {
  /** Stops watching. Returns the limit that ended the task, or that it had exceeded at its end. */
  finish(): Promise<PodExit["exceeded"]>;
}
