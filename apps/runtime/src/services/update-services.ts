import { describeApplied } from "@appdb/contract/applied-plan";
import { appError } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import type { MediaPlace } from "@appdb/contract/media-place";
import { type LocalTarget, parseLocalTarget, serviceText } from "@appdb/contract/names";
import { nearestName } from "@appdb/contract/nearest";
import type { PlanOp, ServicePlan } from "@appdb/contract/plan";
import type { ServiceRecord } from "@appdb/contract/routes/local";
import type { Runtime } from "@appdb/contract/runtime";
import type { Clock, Logger } from "@appdb/engine/ports";
import { chooseServices, summarizePlan } from "@appdb/engine/services/plan-services";
import { refuseBlocked, refuseDestructive } from "@appdb/engine/services/refuse-plan";
import type { PostgresProvider } from "@appdb/postgres/cluster/postgres-provider";
import type { OpenDatabases } from "../databases/open-databases.ts";
import { planTarget } from "../databases/schema.ts";
import { checkMediaPlace } from "../media/check-place.ts";
import { chooseFreePort, isPortFree, retryLostPort } from "./free-port.ts";
import { isOfOtherProject, planLocalServices, pruneOp, refuseServicesInTerminals } from "./plan-local-services.ts";
import { serviceFailed } from "./service-process.ts";
import { nameOf, type Services } from "./service-processes.ts";
import type { TerminalStore } from "./terminal-services.ts";

/** Where the media of a local database are, by the environment of its service. */
export type MediaOf = (database: string, env: Readonly<Record<string, string>>) => MediaPlace;

export interface UpdateServicesDeps {
  readonly databases: OpenDatabases;
  readonly postgres: Pick<PostgresProvider, "hasDatabase" | "listDatabases">;
  readonly services: Services;
  readonly terminals: TerminalStore;
  readonly mediaOf: MediaOf;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface UpdateServicesInput {
  readonly manifest: Manifest;
  readonly runtime: Runtime;
  readonly target: string;
  readonly service: string | null;
  readonly port: number | null;
}

/**
 * Plans a `service update` against the running services.
 * @throws service_not_found, service_conflict, invalid_request; database_not_found for a misspelt database
 */
export async function planServiceUpdate(
  deps: Pick<UpdateServicesDeps, "databases" | "postgres" | "services" | "terminals">,
  input: UpdateServicesInput,
): Promise<ServicePlan> {
  const location = parseLocalTarget(input.target);
  const target = location.text;
  refuseServicesInTerminals({ ...input, target }, chooseServices(input), deps.terminals.list(target), "update");
  const schema = await planTarget(deps, { manifest: input.manifest, target: location });
  const differing = schema.tables.filter((table) => table.resolution !== "up_to_date").map((table) => table.path);
  if (differing.length > 0) await refuseMisspelt(deps, input.manifest, location);
  return planLocalServices({ ...input, target, present: deps.services.present(target), differing_tables: differing });
}

/** An update of the tables would make a second database. */
async function refuseMisspelt(
  { postgres }: Pick<UpdateServicesDeps, "postgres">,
  { app_file: appFile }: Manifest,
  { database, text: target }: LocalTarget,
): Promise<void> {
  const suggestion = nearestName(database, await postgres.listDatabases());
  if (suggestion === undefined || (await postgres.hasDatabase(database))) return;
  throw appError("database_not_found", {
    detail: `No local database named '${database}'. Did you mean '${suggestion}'?`,
    hint: `Write ${suggestion}, or make a database ${database}: cli schema update ${appFile} ${target}`,
    meta: { database, suggestion },
  });
}

/**
 * Applies a `service update`: starts missing services, restarts changed ones, and leaves others alone. Resolves when
 * all services of the plan are AVAILABLE; the returned plan shows the state after that.
 * @throws schema_mismatch, destructive_refused, config_invalid, port_taken before anything is changed; service_failed
 */
export async function updateLocalServices(
  deps: UpdateServicesDeps,
  input: UpdateServicesInput & { readonly allow_destructive: boolean },
): Promise<ServicePlan> {
  const { services } = deps;
  const plan = await planServiceUpdate(deps, input);
  refuseBlocked(plan);
  refuseDestructive(plan, input.allow_destructive);
  const changing = plan.services.filter((item) => item.resolution !== "up_to_date");
  const { env } = input.runtime;
  const place = deps.mediaOf(parseLocalTarget(plan.target).database, env);
  if (changing.length > 0) await checkMediaPlace({ manifest: input.manifest, place, env, log: deps.log });
  const present = services.present(plan.target);
  const portOf = (name: string) => present.find((service) => service.stored.service === name)?.stored.port;
  if (input.port !== null && changing.some((item) => portOf(item.name) !== input.port)) {
    await refuseTakenPort(input.port, services);
  }
  const start = (service: string, port: number): Promise<void> =>
    services.replace({
      format: 1,
      target: plan.target,
      service,
      port,
      desired: "running",
      manifest: input.manifest,
      runtime: input.runtime,
      updated_at: new Date(deps.clock.now()).toISOString(),
    });
  for (const item of changing) {
    await start(item.name, input.port ?? portOf(item.name) ?? (await choosePort(services, plan.target, item.name)));
  }
  for (const item of changing) {
    const name = `${plan.target}/${item.name}`;
    const isChosen = input.port === null && portOf(item.name) === undefined;
    const startElsewhere = async (): Promise<ServiceRecord> => {
      await start(item.name, await choosePort(services, plan.target, item.name));
      return await services.settled(name);
    };
    const first = await services.settled(name);
    const record = isChosen ? await retryLostPort(first, startElsewhere) : first;
    if (record.state === "FAILED") throw serviceFailed(serviceText(record), record);
  }
  // An unchanged service may still be starting after the daemon's start.
  for (const item of plan.services) {
    const record = await services.settled(`${plan.target}/${item.name}`);
    if (record.state === "FAILED") throw serviceFailed(serviceText(record), record);
  }
  return describeApplied(plan, ({ name }) => services.record(`${plan.target}/${name}`));
}

function choosePort(services: UpdateServicesDeps["services"], target: string, service: string): Promise<number> {
  return chooseFreePort(`${target}/${service}`, services.ports());
}

export interface PruneServicesInput extends Pick<UpdateServicesInput, "manifest" | "runtime" | "target"> {
  readonly dry_run: boolean;
}

/**
 * Stops and removes services of the target that the file does not define. A dry run only lists them in `ops`. Services
 * of another project whose folder exists stay.
 */
export async function pruneLocalServices(
  deps: Pick<UpdateServicesDeps, "services">,
  input: PruneServicesInput,
): Promise<ServicePlan> {
  const { services } = deps;
  const target = parseLocalTarget(input.target).text;
  const extras = services
    .present(target)
    .filter(({ stored }) => !input.manifest.services.some((service) => service.name === stored.service));
  const ops: PlanOp[] = [];
  for (const service of extras) {
    const isOther = isOfOtherProject(service, input.runtime);
    if (!input.dry_run && !isOther) await services.forget(nameOf(service.stored));
    const outcome = isOther ? "refused" : "applied";
    ops.push({ ...pruneOp(service, input.runtime), status: input.dry_run ? null : outcome });
  }
  return summarizePlan({
    app_file: input.manifest.app_file,
    target,
    services: [],
    extras: input.dry_run ? extras.map(({ stored }) => stored.service) : [],
    ops,
    status: input.dry_run ? null : "applied",
  });
}

async function refuseTakenPort(port: number, services: Services): Promise<void> {
  const owner = services.list(undefined).find((record) => record.port === port);
  if (owner === undefined && (await isPortFree(port))) return;
  throw appError("port_taken", {
    detail: `Port ${port} is in use by ${owner === undefined ? "another program" : `your service ${serviceText(owner)}`}.`,
    hint:
      owner === undefined
        ? "Choose another one with --port, or omit --port."
        : `Choose another one with --port, or stop that service: cli service stop ${serviceText(owner)}`,
    meta: { port, service: owner?.name ?? null },
  });
}
