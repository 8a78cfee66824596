import { statfs } from "node:fs/promises";

const GIGABYTE = 1024 ** 3;
/** Minimum free inodes. File systems without a fixed number report none. */
const FLOOR_FILES = 20_000;

/** The disk of a server, a part of which its organizations leave free. */
export interface DiskReserve {
  readonly bytes: number;
  readonly free_bytes: number;
  /** Organizations cannot write below this. */
  readonly floor_bytes: number;
  readonly free_files: number;
  readonly is_short_of_files: boolean;
  /** Whether organizations cannot write. Never without a floor. */
  readonly is_reached: boolean;
}

/** Reads the free space of the disk with a folder. @throws the system's error if the folder cannot be read */
export async function readDiskReserve(folder: string, floorBytes: number): Promise<DiskReserve> {
  const { bavail, blocks, bsize, ffree, files } = await statfs(folder);
  const freeBytes = bavail * bsize;
  const isShortOfFiles = files > 0 && ffree < Math.min(FLOOR_FILES, files / 100);
  return {
    bytes: blocks * bsize,
    free_bytes: freeBytes,
    floor_bytes: floorBytes,
    free_files: ffree,
    is_short_of_files: isShortOfFiles,
    is_reached: floorBytes > 0 && (isShortOfFiles || freeBytes < floorBytes),
  };
}

/** The free space in words, or the free inodes if those are too few. */
export function describeFreeSpace({
  free_bytes: freeBytes,
  free_files: freeFiles,
  is_short_of_files: isShortOfFiles,
}: DiskReserve): string {
  return isShortOfFiles ? `${freeFiles} files` : `${(freeBytes / GIGABYTE).toFixed(2)} GB`;
}

/** `1 GB`, `0.5 GB` */
export function describeFloor({ floor_bytes: floorBytes }: DiskReserve): string {
  return `${Number((floorBytes / GIGABYTE).toFixed(2))} GB`;
}
