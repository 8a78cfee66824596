import { readFile } from "node:fs/promises";

/** Like `ownMemoryBytes`, for a process and its descendants: with a launcher, Python is its child. */
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
    // same as for the process itself
    return [];
  }
}

/**
 * Memory in bytes that a process itself uses. Undefined where the system does not report it (not Linux, process gone).
 * Mapped file pages are excluded, because the system can reclaim them.
 */
export async function ownMemoryBytes(pid: number): Promise<number | undefined> {
  try {
    const status = await readFile(`/proc/${pid}/status`, "latin1");
    return kilobytes(status, "RssAnon") * 1024 + kilobytes(status, "RssShmem") * 1024;
  } catch {
    // The process has ended or /proc is missing. Its end is noticed elsewhere, and the worker limits its own memory.
    return undefined;
  }
}

function kilobytes(status: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s*(\\d+) kB`, "m").exec(status)?.[1] ?? 0);
}
