import type { Manifest } from "@appdb/contract/manifest";
import { type LocalTarget, parseLocalTarget } from "@appdb/contract/names";
import type { SchemaPlan } from "@appdb/contract/plan";
import {
  appSchema,
  schemaApplyRequestSchema,
  schemaPlanRequestSchema,
  schemaPruneRequestSchema,
} from "@appdb/contract/routes/local";
import { LOCAL_ROUTES } from "@appdb/contract/routes/local-paths";
import type { Runtime } from "@appdb/contract/runtime";
import type { FastifyInstance } from "fastify";
import type { DaemonDeps } from "../composition/compose.ts";
import { applyTarget, openTarget, planForPerson, pruneTarget } from "../databases/schema.ts";
import { findBrokenServices } from "../services/broken-services.ts";
import { answerEvents, endOf } from "./events.ts";
import { parseRequest } from "./parse.ts";

export function addSchemaRoutes(app: FastifyInstance, deps: DaemonDeps): void {
  app.post(LOCAL_ROUTES.schemaPlan.path, async (request, reply) => {
    const input = parseRequest(schemaPlanRequestSchema, request.body);
    const asked = { ...placed(input), ...projectOf(input.runtime) };
    const plan = await planForPerson(deps, asked, endOf(reply));
    return { plan: { ...plan, ...(await surroundings(deps, asked, plan)) } };
  });
  app.post(LOCAL_ROUTES.schemaPrune.path, async (request) => {
    const input = parseRequest(schemaPruneRequestSchema, request.body);
    return { plan: await pruneTarget(deps, placed(input)) };
  });
  app.post(LOCAL_ROUTES.schemaApply.path, async (request, reply) => {
    const input = parseRequest(schemaApplyRequestSchema, request.body);
    await answerEvents(deps, request, reply, async (emit, signal) => ({
      plan: await applyTarget(deps, { ...placed(input), ...projectOf(input.runtime) }, emit, signal),
    }));
  });
  app.post(LOCAL_ROUTES.openTarget.path, async (request) => {
    const input = parseRequest(appSchema, request.body);
    return await openTarget(deps, placed(input));
  });
}

/** What a plan means for the rest of the home: services that it breaks, a database that it makes. */
async function surroundings(
  { postgres, services }: DaemonDeps,
  { manifest, target }: { readonly manifest: Manifest; readonly target: LocalTarget },
  plan: SchemaPlan,
): Promise<Pick<SchemaPlan, "breaks" | "other_databases">> {
  const running = services.present(target.text).filter(({ endpoint }) => endpoint !== null);
  const stored = running.map((service) => service.stored);
  // what cannot be applied breaks nothing
  const breaks = plan.summary.unsupported > 0 ? [] : findBrokenServices(plan, manifest, stored);
  const isNew = plan.tables.every(({ exists }) => !exists) && !(await postgres.hasDatabase(target.database));
  return {
    ...(breaks.length === 0 ? {} : { breaks }),
    ...(isNew ? { other_databases: [...(await postgres.listDatabases())] } : {}),
  };
}

function projectOf(runtime: Runtime | null): { project_root?: string } {
  return runtime === null ? {} : { project_root: runtime.project_root };
}

/** The request with its target parsed. @throws invalid_target */
function placed<T extends { readonly target: string }>(input: T) {
  return { ...input, target: parseLocalTarget(input.target) };
}
