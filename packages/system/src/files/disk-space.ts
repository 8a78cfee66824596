import { statfs } from "node:fs/promises";
import { dirname } from "node:path";

/** PostgreSQL ends when its log cannot grow by a file; running statements write some of these before they notice. */
const FULL_BYTES = 128 * 1024 ** 2;
/** People are warned below this, or below a tenth of a small disk. */
const LOW_BYTES = 1024 ** 3;
const LOW_PART = 10;

export interface DiskSpace {
  readonly bytes: number;
  readonly free_bytes: number;
  /** `full`: PostgreSQL may end at any write. */
  readonly level: "enough" | "low" | "full";
}

/** Reads the space of the disk with a folder, or with the folder that it will be made in. @throws the system's error */
export async function readDiskSpace(folder: string): Promise<DiskSpace> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    return diskSpace(blocks * bsize, bavail * bsize);
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    if (!isMissing || dirname(folder) === folder) throw error;
    return await readDiskSpace(dirname(folder));
  }
}

export function diskSpace(bytes: number, freeBytes: number): DiskSpace {
  const isLow = freeBytes < Math.min(LOW_BYTES, bytes / LOW_PART);
  if (freeBytes < FULL_BYTES) return { bytes, free_bytes: freeBytes, level: "full" };
  return { bytes, free_bytes: freeBytes, level: isLow ? "low" : "enough" };
}
