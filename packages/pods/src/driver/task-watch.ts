import { statfs } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { deletedBytes } from "@appdb/system/files/deleted-files";
import { folderUse } from "@appdb/system/files/folder-size";
import type { PodExit } from "./pod-driver.ts";
import type { PodTask } from "./task-runner.ts";

/** A file may be somewhat larger than all that a task may write: its growth is looked at now and then, and this is meanwhile. */
const FILE_SPARE_BYTES = 64 * 1024 * 1024;
const FIRST_PAUSE_MS = 200;
/** Looking at large folders takes at most a part of the time. */
const PAUSES_PER_LOOK = 5;
/** What others may free on a disk while a task runs, which would hide as much that it wrote. */
const FREED_MEANWHILE = { bytes: 2 * 1024 ** 3, files: 100_000 };
/** File systems stamp files by a clock that ticks less often than ours. */
const TICK_MS = 20;

/**
 * Watches what a task may not exceed although nothing else bounds it: its time, and what it writes. `end` is called when it does.
 * The folders are looked at five times a second, less often when that takes long, and once after its end; not while their disks have
 * lost less than the task may write and make: a cache of packages has more files than can be looked at for each build.
 */
export async function watchTask(task: Pick<PodTask, "folders" | "limits">, end: () => void): Promise<TaskWatch> {
  const { disk_bytes: diskBytes, files: mostFiles, timeout_ms: timeoutMs } = task.limits;
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
    if (lost("bytes") < diskBytes && lost("files") < mostFiles) return null;
    const used = await folderUse(folders, { most_files: mostFiles, written_since: started });
    if (used.files > mostFiles) return "files";
    // files that were deleted while they are written to are in no folder, and fill the disk all the same
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

/** The largest file that a task may write, as a limit of the kernel: a task writes faster than its folders are looked at. */
export function taskFileBytes({ disk_bytes: diskBytes }: Pick<PodTask["limits"], "disk_bytes">): number {
  return diskBytes + FILE_SPARE_BYTES;
}

/** What is free, by file system. One that makes places for files as they are needed says of each that none is lost. */
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
  /** Stops watching; what it was ended for, or has exceeded by its end. */
  finish(): Promise<PodExit["exceeded"]>;
}
