import { appError } from "@appdb/contract/errors";
import { parseTarget } from "@appdb/contract/names";
import type { POD_API } from "@appdb/contract/routes/pod-api";
import { cancelJob } from "@appdb/engine/background/list-jobs";
import type { Handlers } from "../api/json-api.ts";
import type { DatabasePodDeps } from "../composition/compose-database.ts";
import { findErrors } from "../databases/cell-errors.ts";
import { listJobsOf } from "../databases/list-jobs-of.ts";
import type { OpenTarget } from "../databases/open-known.ts";
import { readProjectCode } from "../databases/project-code.ts";
import { planTableRecompute, recomputeTable } from "../databases/recompute.ts";

/** Routes for recomputes, failing cells and jobs of the database. Paths are relative to it. */
export function workHandlers(
  deps: DatabasePodDeps,
): Pick<Handlers<typeof POD_API>, "errorList" | "jobCancel" | "jobList" | "recompute" | "recomputePlan"> {
  const { uri } = deps.spec;
  const open = (text: string) => openOwn(deps, text);
  return {
    errorList: async ({ query: { path = "", ...rest } }) => {
      const cut = path.lastIndexOf("/");
      const [target, table] =
        path === "" ? [uri, undefined] : [within(uri, path.slice(0, Math.max(cut, 0))), path.slice(cut + 1)];
      return { tables: await findErrors(open, { ...rest, target, table }) };
    },
    recomputePlan: async ({ body }) => {
      return { plan: await planTableRecompute({ open }, { ...body, table: `${uri}/${body.table}` }) };
    },
    recompute: async ({ body: { files, ...input } }) => {
      await deps.disk.admit();
      const request = { ...input, table: `${uri}/${input.table}` };
      return async (emit, signal) => {
        const code = await readProjectCode({ ...deps, open }, files, request, signal);
        return { result: await recomputeTable({ ...deps, open }, { ...request, ...code }, emit, signal) };
      };
    },
    jobList: async ({ query: { all, folder = "" } }) => {
      const { sql, target } = await open(within(uri, folder));
      const of = { sql, uri, path: target.folders.join("/"), all: all === "1" };
      return { jobs: [...(await listJobsOf(of))] };
    },
    jobCancel: async ({ body: { id } }) => {
      const { sql } = await open(uri);
      return await cancelJob(sql, deps.clock, id);
    },
  };
}

function within(uri: string, path: string): string {
  return path === "" ? uri : `${uri}/${path}`;
}

/** Opens a folder of this database. @throws invalid_target, table_not_found while it has no tables */
async function openOwn({ databases, database, ready, spec }: DatabasePodDeps, text: string): Promise<OpenTarget> {
  const target = parseTarget(text);
  await ready();
  const found = await databases.find(database);
  if (found !== undefined) return { ...found, name: spec.uri, target };
  throw appError("table_not_found", {
    detail: `${spec.uri} has no tables yet.`,
    hint: `Make them first: cli schema update <file> ${target.text}`,
    meta: { target: target.text },
  });
}
