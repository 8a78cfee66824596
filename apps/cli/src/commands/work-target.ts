import type { JobRecord, RecomputePlan, RecomputeResult, TableErrors } from "@appdb/contract/jobs";
import type { Target } from "@appdb/contract/names";
import type { Progress, RecomputePlanRequest, RecomputeRequest } from "@appdb/contract/routes/local";
import type { Context } from "../context.ts";

/** Long work on the tables of a local or hosted target. Paths are complete: `main/docs`, `cloud://acme:main/docs`. */
export interface WorkTarget {
  /** Ends the sentence "The recompute continues in ...". */
  readonly worker: string;
  /** Counts for a target; failing cells for a table, or for a folder of that name. */
  errors(of: ErrorsOf): Promise<TableErrors[]>;
  recomputePlan(request: RecomputePlanRequest): Promise<RecomputePlan>;
  recompute(request: RecomputeRequest, onProgress: (progress: Progress) => void): Promise<RecomputeResult>;
  jobList(all: boolean): Promise<readonly JobRecord[]>;
  jobCancel(id: string): Promise<{ readonly id: string }>;
}

export interface ErrorsOf {
  readonly table: string | undefined;
  readonly column: string | undefined;
  readonly limit: number;
}

/**
 * Opens a target, so that later code need not distinguish local and hosted ones.
 * @throws errors of finding the daemon or the server
 */
export async function openWork(ctx: Context, target: Target): Promise<WorkTarget> {
  if (target.kind === "hosted") return (await import("../control/hosted-work.ts")).openHostedWork(ctx, target);
  const client = await ctx.daemon.ensure();
  const { text } = target;
  const options = { signal: ctx.signal };
  return {
    worker: "the daemon",
    errors: async (of) => (await client.call("errors", { query: { target: text, ...of } }, options)).tables,
    recomputePlan: async (body) => (await client.call("recomputePlan", { body }, options)).plan,
    recompute: async (body, onProgress) =>
      (await client.call("recompute", { body }, { ...options, onProgress })).result,
    jobList: async (all) =>
      (await client.call("jobList", { query: { target: text, all: all ? "1" : "0" } }, options)).jobs,
    jobCancel: (id) => client.call("jobCancel", { body: { target: text, id } }, options),
  };
}
