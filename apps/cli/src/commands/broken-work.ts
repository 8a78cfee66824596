import { AppError, appError, type ErrorCode } from "@appdb/contract/errors";
import { isHosted } from "@appdb/contract/names";
import type { Progress } from "@appdb/contract/routes/local";
import { commandLine } from "../output/command-line.ts";

/** Errors of a process or connection that ended while a command watched its jobs. Jobs outlive both. */
const BROKEN: readonly ErrorCode[] = [
  "commit_unknown",
  "daemon_failed",
  "database_not_reached",
  "database_unavailable",
  "server_failed",
];

export function isBroken(error: unknown): error is AppError {
  return error instanceof AppError && BROKEN.includes(error.code);
}

export interface FollowedJobs {
  readonly onProgress: (progress: Progress) => void;
  /** The error that names the jobs that continue. Undefined if none has reported rows. */
  explain(broken: AppError): AppError | undefined;
}

/** Remembers the jobs of progress lines, and passes the lines on. */
export function followJobs(target: string, onProgress: (progress: Progress) => void): FollowedJobs {
  const seen = new Map<string, Progress>();
  return {
    onProgress: (progress) => {
      seen.set(progress.job, progress);
      onProgress(progress);
    },
    explain: (broken) => {
      const unfinished = [...seen].filter(([, { rows_done: done, rows_total: total }]) => done < total);
      const jobs = (unfinished.length > 0 ? unfinished : [...seen]).map(([id]) => id);
      if (jobs.length === 0) return undefined;
      const continues = jobs.length === 1 ? "The job" : "The jobs";
      return appError(broken.code === "commit_unknown" ? "database_unavailable" : broken.code, {
        detail: `${stoppedPart(target, broken)} stopped or restarted. ${continues} ${jobs.join(", ")} ${jobs.length === 1 ? "continues" : "continue"} when it runs.`,
        hint: `See the progress: ${commandLine(["jobs", "list", target])}`,
        meta: { jobs },
        cause: broken,
      });
    },
  };
}

function stoppedPart(target: string, { code }: AppError): string {
  if (isHosted(target))
    return code === "server_failed" ? `The database ${target} or its server` : `The database ${target}`;
  return code === "daemon_failed" ? "The daemon" : "PostgreSQL";
}

/** The error of a job that someone cancelled, with the command that starts it again. */
export function wasCancelled(error: AppError, command: string): AppError {
  return appError("job_cancelled", {
    detail: error.message,
    hint: `To run it: ${command}`,
    meta: error.meta,
    cause: error,
  });
}
