import type { UdfError } from "../ports.ts";
import type { Fill } from "./fill-plan.ts";
import type { JobDeps } from "./job-deps.ts";
import type { Job } from "./job-store.ts";
import type { LazyRunner } from "./run-rows.ts";

/** The job is not ours any more, or the table is not what it was: whoever reads the job anew knows what is left to do. */
export class JobLost extends Error {}

/** A row has no value for a column of the job, and the job may not leave an error in its cell. */
export class RowFailed extends Error {
  readonly row: string;
  readonly column: string;
  readonly error: UdfError;

  constructor(row: string, column: string, error: UdfError) {
    super(error.message);
    this.row = row;
    this.column = column;
    this.error = error;
  }
}

export interface FillContext {
  readonly deps: JobDeps;
  readonly job: Job;
  readonly fill: Fill;
  readonly runner: LazyRunner;
  readonly signal: AbortSignal;
}
