import { type AppError, appError } from "./errors.ts";

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOTDIR: "a part of the path is a file",
  EEXIST: "it is a file",
  ENOENT: "the system allows no folder there",
};
const FULL = ["ENOSPC", "EDQUOT"];

/** Describes a system error below a home: `disk_full`, else `home_not_writable`. */
export function homeError(home: string, cause: unknown): AppError {
  const { code, message } = cause instanceof Error ? (cause as NodeJS.ErrnoException) : { message: String(cause) };
  const meta = { home };
  if (code !== undefined && FULL.includes(code)) {
    return appError("disk_full", {
      detail: `The disk of the home folder ${home} is full.`,
      hint: "Free space on that disk, or set SERVICE_HOME to a folder on another disk.",
      meta,
      cause,
    });
  }
  return appError("home_not_writable", {
    detail: `The home folder ${home} cannot be written: ${(code && REASONS[code]) ?? message}.`,
    hint: "Set SERVICE_HOME to a folder that you own.",
    meta,
    cause,
  });
}
