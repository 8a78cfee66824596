import { MOST_ERRORS } from "@appdb/contract/routes/control-work";
import { recomputePlanRequestSchema, recomputeRequestSchema } from "@appdb/contract/routes/local";
import { LOCAL_ROUTES } from "@appdb/contract/routes/local-paths";
import { cancelJob, listJobs } from "@appdb/engine/background/list-jobs";
import { folderSchema } from "@appdb/engine/target";
import type { FastifyInstance } from "fastify";
import * as z from "zod";
import type { DaemonDeps } from "../composition/compose.ts";
import { findErrors } from "../databases/cell-errors.ts";
import { openKnown } from "../databases/open-known.ts";
import { planTableRecompute, recomputeTable } from "../databases/recompute.ts";
import { answerEvents } from "./events.ts";
import { parseRequest } from "./parse.ts";

const errorsQuerySchema = z.strictObject({
  target: z.string(),
  table: z.string().optional(),
  column: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(MOST_ERRORS).default(100),
});
const jobsQuerySchema = z.strictObject({ target: z.string(), all: z.enum(["0", "1"]).default("0") });
const cancelSchema = z.strictObject({ target: z.string(), id: z.string() });

/** Recomputes, failing cells and jobs of the databases. */
export function addJobRoutes(app: FastifyInstance, deps: DaemonDeps): void {
  const open = (text: string) => openKnown(deps, text);
  app.post(LOCAL_ROUTES.recomputePlan.path, async (request) => {
    const input = parseRequest(recomputePlanRequestSchema, request.body);
    return { plan: await planTableRecompute({ open }, input) };
  });
  app.post(LOCAL_ROUTES.recompute.path, async (request, reply) => {
    const input = parseRequest(recomputeRequestSchema, request.body);
    await answerEvents(deps, request, reply, async (emit, signal) => ({
      result: await recomputeTable({ ...deps, open }, input, emit, signal),
    }));
  });
  app.get(LOCAL_ROUTES.errors.path, async (request) => {
    return { tables: await findErrors(open, parseRequest(errorsQuerySchema, request.query)) };
  });
  app.get(LOCAL_ROUTES.jobList.path, async (request) => {
    const { target: text, all } = parseRequest(jobsQuerySchema, request.query);
    const { sql, name, target } = await open(text);
    const folder = target.folders.length === 0 ? null : folderSchema(target.text);
    return { jobs: await listJobs(sql, { database: name, folder, all: all === "1" }) };
  });
  app.post(LOCAL_ROUTES.jobCancel.path, async (request) => {
    const { target, id } = parseRequest(cancelSchema, request.body);
    const { sql } = await open(target);
    return await cancelJob(sql, deps.clock, id);
  });
}
