import { endOf } from "@appdb/http/mount-api";
import { actorOf, type RecordEvent } from "../../audit/event.ts";
import { type Call, type ControlRoutes, recheckCaller } from "../../requests/checked-route.ts";
import type { LineStreams } from "../../requests/line-streams.ts";
import { recordedLines } from "../events/recorded-lines.ts";
import {
  beginApply,
  explainHostedQuery,
  planHostedSchema,
  pruneHostedSchema,
  type RecordOutcome,
  type SchemaRequestDeps,
} from "./schema-requests.ts";

export interface SchemaRouteDeps extends SchemaRequestDeps {
  readonly recordEvent: RecordEvent;
  readonly line_streams: LineStreams;
}

export function addSchemaRoutes(routes: ControlRoutes, deps: SchemaRouteDeps): void {
  routes.add("schemaPlan", async ({ org, params, body, reply }) =>
    planHostedSchema(deps, org, params.db, body, endOf(reply)),
  );
  routes.add("schemaPrune", async (call) => {
    const { body, org, params, reply } = call;
    const input = {
      record: (uri: string, outcome: Outcome) => record(deps, call, uri, { action: "schema.prune", outcome }),
      signal: endOf(reply),
    };
    return await pruneHostedSchema(deps, org, params.db, body, input);
  });
  routes.add("queryExplain", async ({ org, params, body, reply }) =>
    explainHostedQuery(deps, org, params.db, body, endOf(reply)),
  );
  routes.add("schemaApply", async (call) => {
    const { principal, request, reply } = call;
    const org = await recheckCaller(deps.db, { principal, org: call.org, permission: "database.update" });
    const recordPending = (uri: string) => record(deps, call, uri, { action: "schema.update", outcome: "pending" });
    const { events, pod } = await beginApply(deps, org, call.params.db, call.body, recordPending, endOf(reply));
    const ended = (outcome: "succeeded" | "failed") =>
      record(deps, call, pod.uri, { action: "schema.update", outcome });
    await deps.line_streams.serve(request, reply, () => recordedLines(events, ended));
  });
}

type Outcome = Parameters<RecordOutcome>[1];

async function record(
  deps: SchemaRouteDeps,
  { body, client, org, principal }: Call<"schemaApply" | "schemaPrune">,
  uri: string,
  { action, outcome }: { readonly action: string; readonly outcome: Outcome },
): Promise<void> {
  await deps.recordEvent(deps.db, {
    action,
    target: [uri, ...body.folders].join("/"),
    org_id: org.id,
    actor: actorOf(principal),
    principal,
    ...client,
    outcome,
    detail: { app_file: body.app_file, catalog_version: body.catalog_version },
  });
}
