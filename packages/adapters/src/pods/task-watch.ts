import { setTimeout as sleep } from "node:timers/promises";
import { folderBytes } from "../files/folder-size.ts";
import type { PodTask } from "./pod-driver.ts";

const FIRST_PAUSE_MS = 200;
/** Looking at large folders takes at most a part of the time. */
const PAUSES_PER_LOOK = 5;

/**
 * Watches what a task may not exceed although nothing else bounds it: its time, and what it writes. `end` is called when it does.
 * The folders are looked at five times a second, less often when that takes long, and once after its end.
 */
export async function watchTask(task: PodTask, end: () => void): Promise<TaskWatch> {
  const { timeout_ms, disk_bytes } = task.limits;
  const folders = task.folders.filter(({ mode }) => mode === "write").map(({ path }) => path);
  const before = await folderBytes(folders);
  const stopping = new AbortController();
  let exceeded: "time" | "disk" | null = null;

  function exceed(limit: "time" | "disk"): void {
    exceeded ??= limit;
    stopping.abort();
    end();
  }

  const isFull = async () => (await folderBytes(folders)) - before > disk_bytes;
  const timer = setTimeout(() => exceed("time"), timeout_ms);
  const looking = look();

  async function look(): Promise<void> {
    for (let pause_ms = FIRST_PAUSE_MS; !stopping.signal.aborted; ) {
      await sleep(pause_ms, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return;
      const started = performance.now();
      if (await isFull()) exceed("disk");
      pause_ms = Math.max(FIRST_PAUSE_MS, PAUSES_PER_LOOK * (performance.now() - started));
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

export interface TaskWatch {
  /** Stops watching; what it was ended for, or has exceeded by its end. */
  finish(): Promise<"time" | "disk" | null>;
}
