import { AppError, appError } from "@appdb/contract/errors";

/** Minimum free space for a start. On a full disk PostgreSQL cannot even log the reason. */
const LEAST_BYTES = 1_000_000;
const LAST_LINES = 4;
/** Hint of a daemon; other servers name their own log. */
export const LOG_HINT = "The full log is in logs/postgres.log of the home.";

export interface FailedStart {
  /** Short description of how it ended. */
  readonly failure: string;
  /** Log output of this start. */
  readonly output: string;
  /** Free bytes on the disk of its data. */
  readonly free_bytes: number;
}

/** Describes a failed start without paths, because users of a hosted database may read it. */
export function startFailure({ failure, free_bytes: freeBytes, output }: FailedStart): Error {
  const [, ofData, ofServer] =
    /initialized by PostgreSQL version (\S+), which is not compatible with this version (\S+?)\.?\s/.exec(output) ?? [];
  if (ofData !== undefined) {
    return appError("postgres_unsupported", {
      detail: `The data was written by PostgreSQL ${ofData}, but this installation has PostgreSQL ${ofServer}.`,
      hint: `Transfer the data with pg_dumpall of PostgreSQL ${ofData}, or use an installation with that version.`,
      meta: { data: ofData, server: ofServer },
    });
  }
  if (freeBytes < LEAST_BYTES || /No space left on device|Disk quota exceeded/.test(output)) {
    return appError("disk_full", {
      detail: `PostgreSQL could not be started: the disk of its data has ${Math.floor(freeBytes / 1_000)} kB left.`,
      hint: "Free space on that disk. The next start then works, and nothing is lost.",
      meta: { free_bytes: freeBytes },
    });
  }
  const words = output
    .split("\n")
    .filter((line) => line !== "" && !/starting PostgreSQL|listening on/.test(line))
    .map((line) => line.replace(/^[-\d]+ [\d:.]+ \S+ \[\d+\] /, ""))
    .slice(-LAST_LINES)
    .join(" ");
  return appError("postgres_failed", {
    detail: `PostgreSQL could not be started: ${failure}.${words === "" ? "" : ` It said: ${words}`}`,
    hint: LOG_HINT,
  });
}

export function stoppedMeanwhile(): Error {
  return appError("postgres_failed", { detail: "PostgreSQL was stopped while it started." });
}

/** Whether the cause is the same. The free bytes of a full disk and numbers of processes differ between attempts. */
export function isSameOutage(before: unknown, now: unknown): boolean {
  if (!(before instanceof Error) || !(now instanceof Error)) return false;
  if (before instanceof AppError !== now instanceof AppError) return false;
  if (before instanceof AppError && now instanceof AppError) {
    if (before.code !== now.code) return false;
    if (before.code === "disk_full") return true;
  }
  return withoutNumbers(before) === withoutNumbers(now);
}

function withoutNumbers({ message }: Error): string {
  return message.replaceAll(/\d+/g, "N");
}
