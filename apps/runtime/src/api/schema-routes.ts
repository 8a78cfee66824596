import { refuseDeviceName } from "@appdb/contract/device-names";
import type { Manifest } from "@appdb/contract/manifest";
import { type LocalTarget, parseLocalTarget } from "@appdb/contract/names";
import type { SchemaPlan } from "@appdb/contract/plan";
import type { LOCAL_API } from "@appdb/contract/routes/local-api";
import type { Runtime } from "@appdb/contract/runtime";
import { codeDigests } from "@appdb/engine/jobs/code-digests";
import { endOf } from "@appdb/http/mount-api";
import type { DaemonDeps } from "../composition/compose.ts";
import { explainTarget } from "../databases/explain.ts";
import { applyTarget, openTarget, planForPerson, pruneTarget } from "../databases/schema.ts";
import { checkMediaPlace } from "../media/check-place.ts";
import { findBrokenServices, runningOf } from "../services/broken-services.ts";
import { findOutdatedServices } from "../services/outdated-services.ts";
import { refuseServicesInTerminals, refuseServicesOfOthers } from "../services/plan-local-services.ts";
import type { Handlers } from "./json-api.ts";

/** Routes for plans and updates of tables, and for explaining queries. */
export function schemaHandlers(
  deps: DaemonDeps,
): Pick<Handlers<typeof LOCAL_API>, "openTarget" | "queryExplain" | "schemaApply" | "schemaPlan" | "schemaPrune"> {
  return {
    schemaPlan: async ({ body, reply }) => {
      const request = { ...placed(body), ...projectOf(body.runtime) };
      const plan = await planForPerson(deps, request, endOf(reply));
      return { plan: { ...plan, ...(await planEffects(deps, request, plan)) } };
    },
    schemaPrune: async ({ body }) => ({ plan: await pruneTarget(deps, placed(body)) }),
    schemaApply:
      ({ body }) =>
      async (emit, signal) => {
        const input = { ...placed(body), ...projectOf(body.runtime) };
        const onApplied = (runtimeId: string) => deps.manifests.store(runtimeId, input.target.text, input.manifest);
        try {
          return { plan: await applyTarget({ ...deps, onApplied }, input, emit, signal) };
        } finally {
          await deps.renewWrites(input.target.database);
        }
      },
    openTarget: async ({ body }) => {
      const { text: target } = parseLocalTarget(body.target);
      const { manifest, pid, runtime, services } = body;
      const { env, project_root } = runtime;
      const place = deps.mediaOf(parseLocalTarget(target).database, env);
      await checkMediaPlace({ manifest, place, env, log: deps.log });
      refuseServicesOfOthers({ manifest, runtime, target, present: deps.services.present(target) }, services);
      refuseServicesInTerminals({ manifest, runtime, target }, services, deps.terminals.list(target), "run");
      deps.terminals.save(pid, { target, services, app_file: manifest.app_file, project_root });
      return await openTarget(deps, placed(body));
    },
    queryExplain: async ({ body }) => await explainTarget(deps, placed(body)),
  };
}

/** Effects of a plan on the rest of the home: services that it breaks, and a database that it creates. */
async function planEffects(
  { postgres, scratch, services }: DaemonDeps,
  request: { readonly manifest: Manifest; readonly target: LocalTarget; readonly project_root?: string },
  plan: SchemaPlan,
): Promise<Pick<SchemaPlan, "breaks" | "other_databases" | "outdated">> {
  const { manifest, project_root: projectRoot, target } = request;
  const running = services.present(target.text).filter(({ endpoint }) => endpoint !== null);
  const stored = running.map((service) => service.stored);
  // a plan that cannot be applied breaks nothing
  const isRefused = plan.tables.some(({ ops, project }) => project !== undefined && ops.length > 0);
  const isPossible = plan.summary.unsupported === 0 && !isRefused;
  const breaks = isPossible
    ? findBrokenServices(plan, { manifest, project_root: projectRoot }, stored.map(runningOf))
    : [];
  const paths = new Set(plan.tables.map(({ path }) => path));
  const outdated = findOutdatedServices(stored, codeDigests(manifest), (table) => paths.has(table)).map((service) =>
    service.project_root === projectRoot ? { ...service, project_root: null } : service,
  );
  const isNew = plan.tables.every(({ exists }) => !exists) && !(await postgres.hasDatabase(target.database));
  if (isNew) refuseDeviceName("database", target.database);
  return {
    ...(breaks.length === 0 ? {} : { breaks }),
    ...(outdated.length === 0 ? {} : { outdated }),
    ...(isNew ? { other_databases: await scratch.listOthers() } : {}),
  };
}

function projectOf(runtime: Runtime | null): { project_root?: string } {
  return runtime === null ? {} : { project_root: runtime.project_root };
}

/** Parses the target of a request. @throws invalid_target */
function placed<T extends { readonly target: string }>(input: T) {
  return { ...input, target: parseLocalTarget(input.target) };
}
