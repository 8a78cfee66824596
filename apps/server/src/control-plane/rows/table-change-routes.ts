import { changedPath } from "@appdb/contract/routes/table-changes";
import { endOf } from "@appdb/http/mount-api";
import { actorOf, type RecordEvent } from "../../audit/event.ts";
import { podClient } from "../../pods/pod-client.ts";
import { type Call, type ControlRoutes, recheckCaller } from "../../requests/checked-route.ts";
import type { LineStreams } from "../../requests/line-streams.ts";
import { type FindPodDeps, findPod } from "../databases/find-pod.ts";
import { recordedLines } from "../events/recorded-lines.ts";
import { listForPlan } from "../services/services-store.ts";
import { forwardDocument } from "./forward-answer.ts";

export interface TableChangeRouteDeps extends FindPodDeps {
  readonly recordEvent: RecordEvent;
  readonly line_streams: LineStreams;
}

/** Passes on definitions and changes of single tables from the database's pod. */
export function addTableChangeRoutes(routes: ControlRoutes, deps: TableChangeRouteDeps): void {
  routes.add("tableDefinition", async ({ org, params: { db, table }, reply }) => {
    const { pod } = await findPod(deps, org, db, "read");
    await forwardDocument(pod, reply, (client, options) =>
      client.open("tableDefinition", { params: { table } }, options),
    );
    return undefined;
  });
  routes.add("historyList", async ({ org, params, query, reply }) => {
    const { pod } = await findPod(deps, org, params.db, "read");
    await forwardDocument(pod, reply, (client, options) => client.open("historyList", { query }, options));
    return undefined;
  });
  routes.add("tableChange", async (call) => {
    const { body, params, principal, reply, request } = call;
    const org = await recheckCaller(deps.db, { principal, org: call.org, permission: "database.update" });
    const { pod, row } = await findPod(deps, org, params.db, "changed");
    const ended = (outcome: "succeeded" | "failed") => record(deps, call, pod.uri, outcome);
    await record(deps, call, pod.uri, "pending");
    const services = await listForPlan(deps.db, row.id, pod.uri);
    const own = { runtime: null, project_root: null, files: row.observed?.tree ?? null, services };
    const change = { body: { ...body, ...own } };
    const events = await podClient(pod)
      .events("tableChange", change, { signal: endOf(reply) })
      .catch(async (error: unknown) => {
        await ended("failed");
        throw error;
      });
    await deps.line_streams.serve(request, reply, () => recordedLines(events, ended));
  });
}

async function record(
  deps: TableChangeRouteDeps,
  { body: { change, dry_run: isDry }, client, org, principal }: Call<"tableChange">,
  uri: string,
  outcome: "pending" | "succeeded" | "failed",
): Promise<void> {
  // A plan changes nothing.
  if (isDry) return;
  await deps.recordEvent(deps.db, {
    action: "table.change",
    target: [uri, changedPath(change)].filter(Boolean).join("/"),
    org_id: org.id,
    outcome,
    actor: actorOf(principal),
    principal,
    ...client,
    detail: { change: change.change },
  });
}
