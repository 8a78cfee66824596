import type { JobRecord } from "@appdb/contract/jobs";
import { parseTarget } from "@appdb/contract/names";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import { count } from "../../output/count.ts";
import { text } from "../parameters.ts";
import { openWork } from "../work-target.ts";

const PLACE = {
  brief: "The database, folder or table: main, main/docs, cloud://acme:main",
  placeholder: "PATH",
  parse: text,
} as const;

interface Flags extends JsonFlag {
  readonly all: boolean;
}

interface JobList {
  readonly jobs: readonly JobRecord[];
}

/** Lists fills, recomputes and index builds, latest first. */
export const list = defineCommand<Flags, [target: string], JobList>({
  brief: "List background jobs and their progress",
  examples: [
    ["cli jobs list main", "running and waiting jobs"],
    ["cli jobs list main/docs", "those of a table, or of a folder"],
    ["cli jobs list cloud://acme:main", "jobs of a hosted database"],
    ["cli jobs list main --all --json", "with recently ended jobs, for a program"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [PLACE] },
    flags: { all: { kind: "boolean", brief: "Include jobs that have ended", default: false } },
  },
  run: async (ctx, flags, target) => {
    const work = await openWork(ctx, parseTarget(target));
    return { jobs: await work.jobList(flags.all) };
  },
  render: ({ jobs }, out, flags) => {
    if (jobs.length === 0) out.note(flags.all ? "There are no jobs." : "No job runs or waits.");
    const rows = grouped(jobs).map(([job, ...others]) => [
      others.length === 0 ? job.id : count(others.length + 1, "job"),
      job.kind === "close_pending" ? "complete" : job.kind,
      stateOf(job),
      // a request, and rows that are completed, have no columns
      job.columns.length === 0 ? job.table : `${job.table} (${job.columns.join(", ")})`,
      progressOf(together([job, ...others])),
    ]);
    for (const line of alignColumns(rows)) out.line(line);
    for (const job of jobs) if (job.error !== null && job.state === "failed") out.line(`    ${job.id}: ${job.error}`);
  },
});

type Jobs = readonly [JobRecord, ...JobRecord[]];

/** Each job, and those together that have completed rows of a table: a service of a previous file leaves many. */
function grouped(jobs: readonly JobRecord[]): readonly Jobs[] {
  const groups = new Map<string, [JobRecord, ...JobRecord[]]>();
  for (const job of jobs) {
    const key = job.kind === "close_pending" && job.state === "done" ? job.table : job.id;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [job]);
    else group.push(job);
  }
  return [...groups.values()];
}

function together(jobs: Jobs): JobRecord {
  const sum = (of: (job: JobRecord) => number): number => jobs.reduce((total, job) => total + of(job), 0);
  const [first] = jobs;
  return jobs.length === 1
    ? first
    : {
        ...first,
        rows_done: sum((job) => job.rows_done),
        rows_total: sum((job) => job.rows_total ?? 0),
        errors: sum((job) => job.errors),
      };
}

function stateOf(job: JobRecord): string {
  return job.is_cancelled && job.state === "running" ? "ending" : job.state;
}

function progressOf(job: JobRecord): string {
  if (job.rows_total === null) return "";
  // a request is a single task, so attempts fail and not cells
  if (job.kind === "background" && job.errors > 0) return `${count(job.errors, "attempt")} failed`;
  const errors = job.errors === 0 ? "" : `, ${job.errors} failed`;
  // rows inserted meanwhile were not counted at the start
  const total = Math.max(job.rows_done, job.rows_total);
  return `${job.rows_done} of ${total} rows${errors}${isPlacing(job) ? ", putting values in place" : ""}`;
}

/** All values are computed, and the last transaction puts them in place. */
function isPlacing({ is_cancelled: isCancelled, kind, rows_done: done, rows_total: total, state }: JobRecord): boolean {
  const isOfRows = kind === "fill" || kind === "recompute";
  return isOfRows && state === "running" && !isCancelled && total !== null && done > 0 && done >= total;
}
