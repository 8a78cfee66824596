import { readFile } from "node:fs/promises";

const PAGE_BYTES = 4096;

/** Bytes of a process that are in memory; undefined where the system does not say (not Linux, process gone). */
export async function residentBytes(pid: number): Promise<number | undefined> {
  try {
    const statm = await readFile(`/proc/${pid}/statm`, "latin1");
    return Number(statm.split(" ")[1]) * PAGE_BYTES;
  } catch {
    // The process has ended or there is no /proc: its end is noticed elsewhere, its memory is then bounded by the worker alone.
    return undefined;
  }
}
