import { readFile } from "node:fs/promises";

/** As `ownMemoryBytes`, of a process and all that it started: behind a launcher Python is a child of it. */
export async function familyMemoryBytes(pid: number): Promise<number | undefined> {
  const own = await ownMemoryBytes(pid);
  if (own === undefined) return undefined;
  const below = await Promise.all((await childrenOf(pid)).map(familyMemoryBytes));
  return below.reduce<number>((sum, bytes) => sum + (bytes ?? 0), own);
}

async function childrenOf(pid: number): Promise<number[]> {
  try {
    const text = await readFile(`/proc/${pid}/task/${pid}/children`, "latin1");
    return text.split(" ").filter(Boolean).map(Number);
  } catch {
    // as for the process itself
    return [];
  }
}

/**
 * Bytes of memory that a process itself has taken; undefined where the system does not say (not Linux, process gone).
 * Pages of files that it maps are left out: they are the system's to take back.
 */
export async function ownMemoryBytes(pid: number): Promise<number | undefined> {
  try {
    const status = await readFile(`/proc/${pid}/status`, "latin1");
    return kilobytes(status, "RssAnon") * 1024 + kilobytes(status, "RssShmem") * 1024;
  } catch {
    // The process has ended or there is no /proc: its end is noticed elsewhere, its memory is bounded by the worker alone.
    return undefined;
  }
}

function kilobytes(status: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s*(\\d+) kB`, "m").exec(status)?.[1] ?? 0);
}
