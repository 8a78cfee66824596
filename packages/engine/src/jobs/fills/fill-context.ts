import type { UdfError } from "../../ports.ts";
import type { JobDeps } from "../job-deps.ts";
import type { Job } from "../job-store.ts";
import type { Fill } from "./fill-plan.ts";
import type { LazyRunner } from "./run-rows.ts";

/** The job has another owner, or its table has changed. Reading the job again shows what is left to do. */
export class JobLost extends Error {}

/** A cell of the job's columns has no value, and the job must not leave an error in it. */
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
