import { machineMb } from "@appdb/system/processes/machine-memory";

/** A row of a result needs so many times its bytes while it becomes JSON, in the worst case, for several callers. */
const SHARE = 64;
const LEAST_BYTES = 1_000_000;
const BYTES_PER_MB = 1_000_000;

/** Maximum bytes of a row that one caller reads: `result_bytes`, or less if the memory of the machine or pod is small. */
export function maxRowBytes(resultBytes: number, memoryMb = machineMb()): number {
  return Math.min(resultBytes, Math.max(LEAST_BYTES, Math.floor((memoryMb * BYTES_PER_MB) / SHARE)));
}
