import { endOf } from "@appdb/http/mount-api";
import { actorOf, type RecordEvent } from "../../audit/event.ts";
import { type Call, type ControlRoutes, recheckCaller } from "../../requests/checked-route.ts";
import type { LineStreams } from "../../requests/line-streams.ts";
import { recordedLines } from "../events/recorded-lines.ts";
import { beginApply, planHostedSchema, type SchemaRequestDeps } from "./schema-requests.ts";

export interface SchemaRouteDeps extends SchemaRequestDeps {
  readonly recordEvent: RecordEvent;
  readonly line_streams: LineStreams;
}

type ApplyCall = Call<"schemaApply">;

export function addSchemaRoutes(routes: ControlRoutes, deps: SchemaRouteDeps): void {
  routes.add("schemaPlan", async ({ org, params, body, reply }) =>
    planHostedSchema(deps, org, params.db, body, endOf(reply)),
  );
  routes.add("schemaApply", async (call) => {
    const { principal, request, reply } = call;
    const org = await recheckCaller(deps.db, { principal, org: call.org, permission: "database.update" });
    const recordPending = (uri: string) => record(deps, call, uri, "pending");
    const { events, pod } = await beginApply(deps, org, call.params.db, call.body, recordPending, endOf(reply));
    const ended = (outcome: "succeeded" | "failed") => record(deps, call, pod.uri, outcome);
    await deps.line_streams.serve(request, reply, () => recordedLines(events, ended));
  });
}

async function record(
  deps: SchemaRouteDeps,
  { body, client, org, principal }: ApplyCall,
  uri: string,
  outcome: "pending" | "succeeded" | "failed",
): Promise<void> {
  await deps.recordEvent(deps.db, {
    action: "schema.update",
    target: [uri, ...body.folders].join("/"),
    org_id: org.id,
    actor: actorOf(principal),
    principal,
    ...client,
    outcome,
    detail: { app_file: body.app_file, catalog_version: body.catalog_version },
  });
}
