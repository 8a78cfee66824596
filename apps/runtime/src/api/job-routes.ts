import type { LOCAL_API } from "@appdb/contract/routes/local-api";
import { cancelJob, listJobs } from "@appdb/engine/background/list-jobs";
import { folderSchema } from "@appdb/engine/target";
import type { DaemonDeps } from "../composition/compose.ts";
import { findErrors } from "../databases/cell-errors.ts";
import { openKnown } from "../databases/open-known.ts";
import { planTableRecompute, recomputeTable } from "../databases/recompute.ts";
import type { Handlers } from "./json-api.ts";

/** Routes for recomputes, failing cells and jobs. */
export function jobHandlers(
  deps: DaemonDeps,
): Pick<Handlers<typeof LOCAL_API>, "errors" | "jobCancel" | "jobList" | "recompute" | "recomputePlan"> {
  const open = (text: string) => openKnown(deps, text);
  return {
    recomputePlan: async ({ body }) => ({ plan: await planTableRecompute({ open }, body) }),
    recompute:
      ({ body }) =>
      async (emit, signal) => ({ result: await recomputeTable({ ...deps, open }, body, emit, signal) }),
    errors: async ({ query }) => ({ tables: await findErrors(open, query) }),
    jobList: async ({ query: { all, target: text } }) => {
      const { sql, name, target } = await open(text);
      const folder = target.folders.length === 0 ? null : folderSchema(target.text);
      return { jobs: [...(await listJobs(sql, { database: name, folder, all: all === "1" }))] };
    },
    jobCancel: async ({ body: { id, target } }) => {
      const { sql } = await open(target);
      return await cancelJob(sql, deps.clock, id);
    },
  };
}
