import { endOf } from "@appdb/http/mount-api";
import { actorOf, type RecordEvent } from "../../audit/event.ts";
import { podClient } from "../../pods/pod-client.ts";
import { type Call, type ControlRoutes, recheckCaller } from "../../requests/checked-route.ts";
import type { LineStreams } from "../../requests/line-streams.ts";
import { type FindPodDeps, findPod } from "../databases/find-pod.ts";
import { recordedLines } from "../events/recorded-lines.ts";
import { forwardDocument } from "../rows/forward-answer.ts";

export interface WorkRouteDeps extends FindPodDeps {
  readonly recordEvent: RecordEvent;
  readonly line_streams: LineStreams;
}

/** Passes on work on a database's tables from its pod: failing cells, recomputes and jobs. */
export function addWorkRoutes(routes: ControlRoutes, deps: WorkRouteDeps): void {
  routes.add("errorList", async ({ org, params, query, reply }) => {
    const { pod } = await findPod(deps, org, params.db, "read");
    await forwardDocument(pod, reply, (client, options) => client.open("errorList", { query }, options));
    return undefined;
  });
  routes.add("recomputePlan", async ({ org, params, body, reply }) => {
    const { pod } = await findPod(deps, org, params.db, "changed");
    await forwardDocument(pod, reply, (client, options) => client.open("recomputePlan", { body }, options));
    return undefined;
  });
  routes.add("recompute", async (call) => {
    const { body, params, principal, reply, request } = call;
    const org = await recheckCaller(deps.db, { principal, org: call.org, permission: "database.update" });
    const { pod, row } = await findPod(deps, org, params.db, "changed");
    const ended = (outcome: "succeeded" | "failed") => record(deps, call, pod.uri, outcome);
    await record(deps, call, pod.uri, "pending");
    const workRequest = { body: { ...body, files: row.observed?.tree ?? null } };
    const events = await podClient(pod)
      .events("recompute", workRequest, { signal: endOf(reply) })
      .catch(async (error: unknown) => {
        await ended("failed");
        throw error;
      });
    await deps.line_streams.serve(request, reply, () => recordedLines(events, ended));
  });
  routes.add("jobList", async ({ org, params, query, reply }) => {
    const { pod } = await findPod(deps, org, params.db, "read");
    await forwardDocument(pod, reply, (client, options) => client.open("jobList", { query }, options));
    return undefined;
  });
  routes.add("jobCancel", async (call) => {
    const { body, client, org, params, principal, reply } = call;
    const { pod } = await findPod(deps, org, params.db, "changed");
    const ended = await podClient(pod).call("jobCancel", { body }, { signal: endOf(reply) });
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
