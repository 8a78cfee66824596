import { appError } from "@appdb/contract/errors";

/** With less, PostgreSQL cannot write what it writes at a start; on a full disk its log has no reason either. */
const LEAST_BYTES = 1_000_000;
const LAST_LINES = 4;
/** Of a daemon; a server of its own names its own log. */
export const LOG_HINT = "The whole text is in logs/postgres.log of the home.";

export interface FailedStart {
  /** How it ended, in words. */
  readonly failure: string;
  /** Its log of this start. */
  readonly said: string;
  /** What the disk of its data has left. */
  readonly free_bytes: number;
}

/** Why PostgreSQL did not start, without paths: a person of a hosted database may read it. */
export function startFailure({ failure, free_bytes: freeBytes, said }: FailedStart): Error {
  const [, ofData, ofServer] =
    /initialized by PostgreSQL version (\S+), which is not compatible with this version (\S+?)\.?\s/.exec(said) ?? [];
  if (ofData !== undefined) {
    return appError("postgres_unsupported", {
      detail: `The data is of PostgreSQL ${ofData}, the server of this installation is PostgreSQL ${ofServer}.`,
      hint: `Bring the data over by pg_dumpall of PostgreSQL ${ofData}, or go back to the installation that has that.`,
      meta: { data: ofData, server: ofServer },
    });
  }
  if (freeBytes < LEAST_BYTES || /No space left on device|Disk quota exceeded/.test(said)) {
    return appError("disk_full", {
      detail: `PostgreSQL could not be started: the disk of its data has ${Math.floor(freeBytes / 1_000)} kB left.`,
      hint: "Free space on that disk, then start again. Nothing is lost.",
      meta: { free_bytes: freeBytes },
    });
  }
  const words = said
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
