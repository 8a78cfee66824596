import { access, constants } from "node:fs/promises";
import { AppError, type ErrorCode } from "@appdb/contract/errors";
import { homeError } from "@appdb/contract/home-error";
import type { DiskSpace } from "@appdb/system/files/disk-space";
import type { MachineCheck } from "../../context.ts";
import { formatBytes } from "../../output/sizes.ts";

/** Errors of a PostgreSQL that does not answer; the state of the machine can still be shown. */
const NO_ANSWER: readonly ErrorCode[] = ["commit_unknown", "database_unavailable", "disk_full", "postgres_failed"];

export function isNoAnswer(error: unknown): error is AppError {
  return error instanceof AppError && NO_ANSWER.includes(error.code);
}

/** The disk of the home in words. */
export function describeDisk({ bytes, free_bytes: free, level }: DiskSpace): string {
  const space = `${formatBytes(free)} of ${formatBytes(bytes)} free`;
  if (level === "enough") return space;
  return `${level === "full" ? "FULL" : "nearly full"}: ${space}`;
}

export function diskCheck(space: DiskSpace, home: string): MachineCheck {
  const hint = `Free space on the disk of ${home}. PostgreSQL stops when it is full.`;
  return {
    name: "disk",
    ok: space.level !== "full",
    detail: describeDisk(space),
    hint: space.level === "enough" ? null : hint,
  };
}

/** Why no daemon can start in a home; undefined if it can be written, or does not exist yet. */
export async function unwritableHome(home: string): Promise<AppError | undefined> {
  try {
    await access(home, constants.W_OK);
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? undefined : homeError(home, error);
  }
}
