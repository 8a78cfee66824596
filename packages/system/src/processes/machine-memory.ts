import { totalmem } from "node:os";

const BYTES_PER_MB = 1_000_000;

/** Megabytes that processes of this machine, or of its container, can have together. */
export function machineMb(): number {
  const constrained = process.constrainedMemory();
  return Math.min(totalmem(), constrained > 0 ? constrained : Number.POSITIVE_INFINITY) / BYTES_PER_MB;
}
