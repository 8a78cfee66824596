import { type HostedTarget, parseTablePath } from "@appdb/contract/names";
import type { RecomputePlanRequest } from "@appdb/contract/routes/local";
import type { ErrorsOf, WorkTarget } from "../commands/work-target.ts";
import type { Context } from "../context.ts";

/** Long work of a hosted database, where functions run with the table's last update. */
export async function openHostedWork(ctx: Context, target: HostedTarget): Promise<WorkTarget> {
  const { client } = await (await ctx.control()).open();
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
    recompute: async ({ manifest: _manifest, runtime: _runtime, ...request }, onProgress) => {
      const input = { params, body: within(request) };
      return (await client.call("recompute", input, { signal, onProgress })).result;
    },
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
