import { jobRecordSchema, recomputePlanSchema, tableErrorsSchema } from "@appdb/contract/jobs";
import { jobCancelSchema } from "@appdb/contract/routes/control-work";
import { POD_ROUTES } from "@appdb/contract/routes/pod-paths";
import * as z from "zod";
import { actorOf, type RecordEvent } from "../../audit/event.ts";
import { askDocument, callPod, checkDocument, type PodCall, type PodPlace } from "../../pods/pod-client.ts";
import { type Call, type ControlRoutes, recheckCaller } from "../../requests/checked-route.ts";
import type { LineStreams } from "../../requests/line-streams.ts";
import { endOf } from "../../requests/response-signal.ts";
import { type FindPodDeps, findPod } from "../databases/find-pod.ts";
import { recordedLines } from "../events/recorded-lines.ts";

export interface WorkRouteDeps extends FindPodDeps {
  readonly recordEvent: RecordEvent;
  readonly line_streams: LineStreams;
}

const errorsSchema = z.object({ tables: z.array(tableErrorsSchema) });
const planSchema = z.object({ plan: recomputePlanSchema });
const jobsSchema = z.object({ jobs: z.array(jobRecordSchema) });

/** The work on a database's tables as its pod answers it: failing cells, columns that are computed again, jobs. */
export function addWorkRoutes(routes: ControlRoutes, deps: WorkRouteDeps): void {
  routes.add("errorList", async ({ org, params, query, reply }) => {
    const { pod } = await findPod(deps, org, params.db, "read");
    return await askAs(pod, errorsSchema, { ...POD_ROUTES.errorList, search: query, signal: endOf(reply) });
  });
  routes.add("recomputePlan", async ({ org, params, body, reply }) => {
    const { pod } = await findPod(deps, org, params.db, "changed");
    return await askAs(pod, planSchema, { ...POD_ROUTES.recomputePlan, body, signal: endOf(reply) });
  });
  routes.add("recompute", async (call) => {
    const { body, params, principal, reply, request } = call;
    const org = await recheckCaller(deps.db, { principal, org: call.org, permission: "database.update" });
    const { pod, row } = await findPod(deps, org, params.db, "changed");
    const ended = (outcome: "succeeded" | "failed") => record(deps, call, pod.uri, outcome);
    await record(deps, call, pod.uri, "pending");
    const asked = {
      ...POD_ROUTES.recompute,
      body: { ...body, files: row.observed?.tree ?? null },
      signal: endOf(reply),
    };
    const answer = await callPod(pod, asked).catch(async (error: unknown) => {
      await ended("failed");
      throw error;
    });
    await deps.line_streams.serve(request, reply, () => recordedLines(pod, answer, ended));
  });
  routes.add("jobList", async ({ org, params, query, reply }) => {
    const { pod } = await findPod(deps, org, params.db, "read");
    return await askAs(pod, jobsSchema, { ...POD_ROUTES.jobList, search: query, signal: endOf(reply) });
  });
  routes.add("jobCancel", async (call) => {
    const { body, client, org, params, principal, reply } = call;
    const { pod } = await findPod(deps, org, params.db, "changed");
    const ended = await askAs(pod, jobCancelSchema, { ...POD_ROUTES.jobCancel, body, signal: endOf(reply) });
    await deps.recordEvent(deps.db, {
      action: "job.cancel",
      target: pod.uri,
      org_id: org.id,
      outcome: "succeeded",
      detail: { job: ended.id },
      actor: actorOf(principal),
      principal,
      ...client,
    });
    return ended;
  });
}

interface WorkCall extends PodCall {
  readonly search?: Readonly<Record<string, string | number | undefined>>;
}

async function askAs<T>(pod: PodPlace, schema: z.ZodType<T>, { search = {}, ...call }: WorkCall): Promise<T> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) if (value !== undefined) query.set(name, String(value));
  return checkDocument(pod, schema, await askDocument(pod, { ...call, path: `${call.path}?${query}` }));
}

async function record(
  deps: WorkRouteDeps,
  { body, client, org, principal }: Call<"recompute">,
  uri: string,
  outcome: "pending" | "succeeded" | "failed",
): Promise<void> {
  await deps.recordEvent(deps.db, {
    action: "table.recompute",
    target: `${uri}/${body.table}`,
    org_id: org.id,
    outcome,
    actor: actorOf(principal),
    principal,
    ...client,
    detail: { columns: body.columns, errors_only: body.errors_only },
  });
}
