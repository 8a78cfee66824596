import { appError } from "@appdb/contract/errors";
import type { hostedServicePlanRequestSchema } from "@appdb/contract/routes/control-services";
import { VERSION } from "@appdb/contract/version";
import { describeService } from "@appdb/engine/endpoints/openapi";
import { endOf } from "@appdb/http/mount-api";
import type { PodAccess } from "@appdb/pods/driver/pod-driver";
import type * as z from "zod";
import type { RecordEvent } from "../../audit/event.ts";
import type { Principal } from "../../audit/principal.ts";
import type { ServerConfig } from "../../config/config.ts";
import type { Call, ControlRoutes } from "../../requests/checked-route.ts";
import type { LineStreams } from "../../requests/line-streams.ts";
import { manageGrants, mayManageSome, notGranted } from "../../requests/manage-grants.ts";
import { requireStartSpace } from "../../storage/start-space.ts";
import type { StageUploadDeps } from "../schema/stage-upload.ts";
import { callService } from "./call-service.ts";
import { pruneServices } from "./prune-services.ts";
import { readDeployedApplication } from "./read-deployed-application.ts";
import { readServiceLog } from "./read-service-log.ts";
import { readTraffic } from "./read-traffic.ts";
import { listReleases } from "./releases.ts";
import { requestService, type ServiceVerb } from "./request-service.ts";
import { checkRollback, planServiceRollback, rollBackService } from "./roll-back-service.ts";
import { findDeclared, findService, findServiceIds, listServices } from "./services-store.ts";
import { planOfServices, refuseLongNames, updateServices } from "./update-services.ts";

export interface ServiceRouteDeps extends StageUploadDeps {
  readonly config: Pick<ServerConfig, "gateway" | "home" | "quotas" | "runtime_base">;
  readonly recordEvent: RecordEvent;
  readonly pod_access: PodAccess;
  readonly line_streams: LineStreams;
}

const VERBS = {
  serviceRestart: "restart",
  serviceStop: "stop",
  serviceRetry: "retry",
} as const satisfies Record<string, ServiceVerb>;

export function addServiceRoutes(routes: ControlRoutes, deps: ServiceRouteDeps): void {
  const { config, db, line_streams: lineStreams, recordEvent } = deps;
  routes.add("serviceList", async ({ org, principal, query }) => {
    if (!mayManageSome(principal, query.database, undefined)) throw notGranted(principal);
    return await listServices(deps, org, query, manageGrants(principal));
  });
  routes.add("serviceShow", async ({ org, params }) => findService(deps, org, params.db, params.service));
  routes.add("servicePlan", async ({ org, params, body, principal, reply }) => {
    refuseOtherFiles(principal, body);
    const application = await readDeployedApplication(deps, org, params.db, body, endOf(reply));
    refuseLongNames(application);
    return await planOfServices(deps, principal, application, body.service);
  });
  routes.changePrepared(
    "serviceUpdate",
    async ({ org, params, body, reply }) => readDeployedApplication(deps, org, params.db, body, endOf(reply)),
    async (call, tx, application) => {
      refuseLongNames(application);
      return await updateServices({ tx, config, recordEvent }, call, application, call.body);
    },
  );
  routes.changePrepared(
    "servicePrune",
    async ({ org, params, body, reply }) => readDeployedApplication(deps, org, params.db, body, endOf(reply)),
    async (call, tx, application) => pruneServices({ tx, config, recordEvent }, call, application, call.body.dry_run),
  );
  for (const [name, verb] of Object.entries(VERBS) as [keyof typeof VERBS, ServiceVerb][]) {
    routes.changePrepared(
      name,
      async () => (verb === "restart" ? await requireStartSpace(deps, "the service") : undefined),
      async (call, tx) =>
        requestService(
          { tx, config, recordEvent },
          call,
          { database: call.params.db, name: call.params.service },
          verb,
        ),
    );
  }
  const compareRelease = async ({ org, params, body, reply }: Call<"serviceRollback" | "serviceRollbackPlan">) =>
    checkRollback(deps, org, { database: params.db, name: params.service }, body.release, endOf(reply));
  routes.changePrepared("serviceRollbackPlan", compareRelease, async (call, tx, checked) => {
    const target = { database: call.params.db, name: call.params.service };
    return await planServiceRollback({ tx, config }, call, target, call.body.release, checked);
  });
  routes.changePrepared("serviceRollback", compareRelease, async (call, tx, checked) => {
    const target = { database: call.params.db, name: call.params.service };
    return await rollBackService({ tx, config, recordEvent }, call, target, call.body.release, checked);
  });
  routes.add("releaseList", async ({ org, params, query }) => {
    const { id } = await findServiceIds(db, org, params.db, params.service);
    return await listReleases(db, id, query);
  });
  routes.add("serviceOpenapi", async ({ org, params }) => {
    const { endpoint } = await findService(deps, org, params.db, params.service);
    const { manifest, service } = await findDeclared(db, org, params.db, params.service);
    if (service === undefined)
      return { openapi: "3.1.0", info: { title: params.service, version: VERSION }, paths: {} };
    const servers = endpoint === null ? [] : [{ url: endpoint }];
    return { ...describeService(manifest, service), servers };
  });
  routes.add("serviceCall", async ({ org, params, body, client, reply }) => {
    const { endpoint } = await findService(deps, org, params.db, params.service);
    return await callService(config, { endpoint, address: client.ip_address, signal: endOf(reply) }, body);
  });
  routes.add("serviceTraffic", async ({ org, params, query }) => {
    return await readTraffic(db, await findDeclared(db, org, params.db, params.service), query);
  });
  routes.add("serviceLogs", async ({ org, params, query, reply, request }) => {
    const { database_id: databaseId, id } = await findServiceIds(db, org, params.db, params.service);
    const log = { database_id: databaseId, service_id: id };
    await lineStreams.serve(request, reply, (signal) => readServiceLog(deps.pod_access, log, query, signal));
  });
}

/** Other files would run with the database's secrets without ever being deployed there. @throws forbidden */
function refuseOtherFiles(
  { key, user_id: userId }: Principal,
  { files, preparation }: Pick<z.output<typeof hostedServicePlanRequestSchema>, "files" | "preparation">,
): void {
  if (userId !== null || (files === null && preparation === undefined)) return;
  throw appError("forbidden", {
    detail: `The key ${key?.name ?? ""} has grants and can plan only with the database's own files. The request has ${files === null ? "a preparation" : "files"}.`,
    hint: "Leave out files and preparation, or use a session or a key without grants.",
  });
}
