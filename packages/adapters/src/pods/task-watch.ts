import { statfs } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { deletedBytes } from "../files/deleted-files.ts";
import { folderBytes } from "../files/folder-size.ts";
import type { PodTask } from "./pod-driver.ts";

const FIRST_PAUSE_MS = 200;
/** Looking at large folders takes at most a part of the time. */
const PAUSES_PER_LOOK = 5;
/** What others may free on a disk while a task runs, which would hide as much that it wrote. */
const FREED_MEANWHILE_BYTES = 2 * 1024 ** 3;
/** File systems stamp files by a clock that ticks less often than ours. */
const TICK_MS = 20;

/**
 * Watches what a task may not exceed although nothing else bounds it: its time, and what it writes. `end` is called when it does.
 * The folders are looked at five times a second, less often when that takes long, and once after its end; not while their disks have
 * lost less than the task may write: a cache of packages has more files than can be looked at for each build.
 */
export async function watchTask(task: PodTask, end: () => void): Promise<TaskWatch> {
  const { timeout_ms, disk_bytes } = task.limits;
  const folders = task.folders.filter(({ mode }) => mode === "write").map(({ path }) => path);
  const started = new Date(Date.now() - TICK_MS);
  const free = await freeBytes(folders);
  const stopping = new AbortController();
  let exceeded: "time" | "disk" | null = null;

  function exceed(limit: "time" | "disk"): void {
    exceeded ??= limit;
    stopping.abort();
    end();
  }

  async function isFull(): Promise<boolean> {
    const lost = sum(
      [...(await freeBytes(folders))].map(([disk, bytes]) => Math.max(0, (free.get(disk) ?? bytes) - bytes)),
    );
    if (lost + FREED_MEANWHILE_BYTES < disk_bytes) return false;
    // files that were deleted while they are written to are in no folder, and fill the disk all the same
    return (await folderBytes(folders, started)) + deletedBytes(folders) > disk_bytes;
  }

  const timer = setTimeout(() => exceed("time"), timeout_ms);
  const looking = look();

  async function look(): Promise<void> {
    for (let pause_ms = FIRST_PAUSE_MS; !stopping.signal.aborted; ) {
      await sleep(pause_ms, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return;
      const looked_at = performance.now();
      if (await isFull()) exceed("disk");
      pause_ms = Math.max(FIRST_PAUSE_MS, PAUSES_PER_LOOK * (performance.now() - looked_at));
    }
  }

  return {
    async finish() {
      clearTimeout(timer);
      stopping.abort();
      await looking;
      if (exceeded === null && (await isFull())) exceeded = "disk";
      return exceeded;
    },
  };
}

/** What is free, by file system. */
async function freeBytes(folders: readonly string[]): Promise<Map<string, number>> {
  const disks = await Promise.all(folders.map((folder) => statfs(folder)));
  return new Map(disks.map(({ bavail, blocks, bsize, type }) => [`${type}:${blocks}`, bavail * bsize]));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

export interface TaskWatch {
  /** Stops watching; what it was ended for, or has exceeded by its end. */
  finish(): Promise<"time" | "disk" | null>;
}
