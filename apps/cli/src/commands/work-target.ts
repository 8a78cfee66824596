import type { JobRecord, RecomputePlan, RecomputeResult, TableErrors } from "@appdb/contract/jobs";
import type { Target } from "@appdb/contract/names";
import type { Progress, RecomputePlanRequest, RecomputeRequest } from "@appdb/contract/routes/local";
import type { Context } from "../context.ts";

/** The long work on the tables of a target, by whichever way it is reached. Paths are whole: `main/docs`, `cloud://acme:main/docs`. */
export interface WorkTarget {
  /** Ends the sentence "the recompute goes on in ...". */
  readonly worker: string;
  /** Of the target the counts; of a table, or of a folder of that name, its cells. */
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

/** Opens a target: nothing that follows asks whether it is local or hosted. @throws what finding the daemon or the server throws */
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
