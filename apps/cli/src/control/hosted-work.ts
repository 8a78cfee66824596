import { appError, fromProblem } from "@appdb/contract/errors";
import type { RecomputeResult } from "@appdb/contract/jobs";
import { type HostedTarget, parseTablePath } from "@appdb/contract/names";
import type { Progress, RecomputePlanRequest } from "@appdb/contract/routes/local";
import type { ErrorsOf, WorkTarget } from "../commands/work-target.ts";
import type { Context, Control } from "../context.ts";

/** The work of a hosted database, where functions run as at the last update of the table. */
export async function openHostedWork(ctx: Context, target: HostedTarget): Promise<WorkTarget> {
  const control = await (await ctx.control()).open();
  const { client } = control;
  const params = { org: target.uri.organization, db: target.uri.database };
  const folder = target.folders.join("/");
  const { signal } = ctx;
  return {
    worker: target.uri.text,
    errors: async ({ table, column, limit }: ErrorsOf) => {
      const path = [...target.folders, ...(table === undefined ? [] : [table])].join("/");
      const query = { path: path === "" ? undefined : path, column, limit };
      return (await client.call("errorList", { params, query }, { signal })).tables;
    },
    recomputePlan: async (request) =>
      (await client.call("recomputePlan", { params, body: within(request) }, { signal })).plan,
    recompute: ({ manifest: _manifest, runtime: _runtime, ...request }, onProgress) =>
      readEnd(control, { params, body: within(request) }, { signal, onProgress }),
    jobList: async (all) => {
      const query = { folder: folder === "" ? undefined : folder, all: all ? "1" : "0" };
      return (await client.call("jobList", { params, query }, { signal })).jobs;
    },
    jobCancel: (id) => client.call("jobCancel", { params, body: { id } }, { signal }),
  };
}

/** Its table as a path within the database. */
function within(request: RecomputePlanRequest): RecomputePlanRequest {
  const { table, target } = parseTablePath(request.table);
  return { ...request, table: [...target.folders, table].join("/") };
}

/** Reads the lines of a recompute to the last one. @throws what it throws; interrupted with the signal */
async function readEnd(
  { client, server }: Control,
  input: { readonly params: { readonly org: string; readonly db: string }; readonly body: RecomputePlanRequest },
  given: { readonly signal: AbortSignal; readonly onProgress: (progress: Progress) => void },
): Promise<RecomputeResult> {
  for await (const line of client.lines("recompute", input, given.signal)) {
    if (line.event === "progress") given.onProgress(line);
    else if (line.event === "error") throw fromProblem(line.problem);
    else return line.result;
  }
  if (given.signal.aborted) throw appError("interrupted", { detail: "The command was interrupted." });
  throw appError("server_failed", {
    detail: `${server.url} closed the connection before the recompute ended. The recompute continues.`,
    hint: `Check its progress: cli jobs list cloud://${input.params.org}:${input.params.db}`,
  });
}
