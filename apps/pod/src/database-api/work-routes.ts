import { appError } from "@appdb/contract/errors";
import { parseTarget } from "@appdb/contract/names";
import {
  errorListQuerySchema,
  jobCancelSchema,
  jobListQuerySchema,
  recomputeBodySchema,
} from "@appdb/contract/routes/control-work";
import { podRecomputeRequestSchema } from "@appdb/contract/routes/pod";
import { POD_ROUTES } from "@appdb/contract/routes/pod-paths";
import { cancelJob, listJobs } from "@appdb/engine/background/list-jobs";
import { folderSchema } from "@appdb/engine/target";
import type { FastifyInstance } from "fastify";
import { answerEvents } from "../api/events.ts";
import { parseRequest } from "../api/parse.ts";
import type { DatabasePodDeps } from "../composition/compose-database.ts";
import { findErrors } from "../databases/cell-errors.ts";
import type { OpenTarget } from "../databases/open-known.ts";
import { readProjectCode } from "../databases/project-code.ts";
import { planTableRecompute, recomputeTable } from "../databases/recompute.ts";

/** Recomputes, failing cells and jobs of the database; its paths are within it. */
export function addWorkRoutes(app: FastifyInstance, deps: DatabasePodDeps): void {
  const { uri } = deps.spec;
  const open = (text: string) => openOwn(deps, text);
  app.get(POD_ROUTES.errorList.path, async (request) => {
    const { path = "", ...rest } = parseRequest(errorListQuerySchema, request.query);
    const cut = path.lastIndexOf("/");
    const [target, table] =
      path === "" ? [uri, undefined] : [within(uri, path.slice(0, Math.max(cut, 0))), path.slice(cut + 1)];
    return { tables: await findErrors(open, { ...rest, target, table }) };
  });
  app.post(POD_ROUTES.recomputePlan.path, async (request) => {
    const input = parseRequest(recomputeBodySchema, request.body);
    return { plan: await planTableRecompute({ open }, { ...input, table: `${uri}/${input.table}` }) };
  });
  app.post(POD_ROUTES.recompute.path, async (request, reply) => {
    const { files, ...input } = parseRequest(podRecomputeRequestSchema, request.body);
    await deps.disk.admit();
    const asked = { ...input, table: `${uri}/${input.table}` };
    await answerEvents(deps, request, reply, async (emit, signal) => {
      const code = await readProjectCode({ ...deps, open }, files, asked, signal);
      return { result: await recomputeTable({ ...deps, open }, { ...asked, ...code }, emit, signal) };
    });
  });
  app.get(POD_ROUTES.jobList.path, async (request) => {
    const { all, folder = "" } = parseRequest(jobListQuerySchema, request.query);
    const { sql, target } = await open(within(uri, folder));
    const of = target.folders.length === 0 ? null : folderSchema(target.text);
    return { jobs: await listJobs(sql, { database: uri, folder: of, all: all === "1" }) };
  });
  app.post(POD_ROUTES.jobCancel.path, async (request) => {
    const { id } = parseRequest(jobCancelSchema, request.body);
    const { sql } = await open(uri);
    return await cancelJob(sql, deps.clock, id);
  });
}

function within(uri: string, path: string): string {
  return path === "" ? uri : `${uri}/${path}`;
}

/** This database, at a folder of it. @throws invalid_target, table_not_found while it has no tables */
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
