import { appError } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import type { PlanOp, ServicePlan } from "@appdb/contract/plan";
import type { Runtime } from "@appdb/contract/runtime";
import { op } from "@appdb/engine/services/compare-routes";
import {
  chooseServices,
  type PresentService,
  planServices,
  serviceConflict,
  summarizePlan,
} from "@appdb/engine/services/plan-services";
import { compareRuntimes } from "./compare-runtimes.ts";
import type { LocalServiceState } from "./service-state.ts";
import type { StoredService } from "./service-store.ts";
import type { TerminalServices } from "./terminal-services.ts";

/** Current state of a service of the target. */
export interface PresentLocalService {
  readonly stored: StoredService;
  readonly state: LocalServiceState;
  readonly endpoint: string | null;
  /** Whether its file still exists; a deleted file does not reserve a name. */
  readonly is_file_there: boolean;
  /** Whether the folder of its project still exists. */
  readonly is_project_there: boolean;
}

export interface PlanLocalServicesInput {
  readonly manifest: Manifest;
  readonly runtime: Runtime;
  readonly target: string;
  /** One service of the file; null for all. */
  readonly service: string | null;
  readonly port: number | null;
  readonly present: readonly PresentLocalService[];
  /** Tables that differ from the file. Services then wait for `schema update`. */
  readonly differing_tables: readonly string[];
}

/** Plans a local `service update`. Pure. @throws service_not_found, service_conflict, invalid_request */
export function planLocalServices(input: PlanLocalServicesInput): ServicePlan {
  refusePort(input);
  const present = input.present.map((service) => toPresent(input, service));
  const plan = planServices({ ...input, place: input.runtime.project_root, present });
  const stays = input.present.filter(
    (service) => plan.extras.includes(service.stored.service) && isOfOther(input, service),
  );
  const names = stays.map(({ stored }) => stored.service);
  const extras = plan.extras.filter((name) => !names.includes(name));
  return summarizePlan({ ...plan, extras, ops: stays.map((service) => stayOp(service, input.runtime)) });
}

/** Whether a service belongs to another project, or to another file of this one. */
function isOfOther(input: PlanLocalServicesInput, service: PresentLocalService): boolean {
  const { project_root: projectRoot } = input.runtime;
  return isOfOtherProject(service, input.runtime) || ownerOf(input, service)?.place === projectRoot;
}

/** A service of another file, which an update of this file leaves alone. */
function stayOp(service: PresentLocalService, runtime: Runtime): PlanOp {
  if (isOfOtherProject(service, runtime)) return pruneOp(service, runtime);
  const { manifest, service: name } = service.stored;
  return { ...op("drop", "service", "blocked", `service '${name}' belongs to ${manifest.app_file} and stays`), name };
}

/**
 * Refuses services that `cli service run` serves from another file. Both would take each other's background jobs.
 * @throws service_conflict
 */
export function refuseServicesInTerminals(
  input: Pick<PlanLocalServicesInput, "manifest" | "runtime" | "target">,
  names: readonly string[],
  running: readonly TerminalServices[],
  verb: "run" | "update",
): void {
  const { manifest, runtime, target } = input;
  for (const { app_file: file, project_root: place, services } of running) {
    const name = services.find((service) => names.includes(service));
    const isSame = file === manifest.app_file && place === runtime.project_root;
    if (name === undefined || isSame) continue;
    const owner = { app_file: file, place, is_in_terminal: true };
    throw serviceConflict({ manifest, target, place: runtime.project_root }, name, owner, verb);
  }
}

/**
 * Refuses to run services whose names belong to other files. Both would take each other's background jobs.
 * @throws service_conflict
 */
export function refuseServicesOfOthers(
  input: Pick<PlanLocalServicesInput, "manifest" | "present" | "runtime" | "target">,
  names: readonly string[],
): void {
  for (const service of input.present) {
    const owner = ownerOf(input, service);
    const name = service.stored.service;
    if (owner !== null && names.includes(name))
      throw serviceConflict({ ...input, place: input.runtime.project_root }, name, owner, "run");
  }
}

/** A prune leaves a service of another project alone while that project's folder exists. */
export function isOfOtherProject(
  { is_project_there: isThere, stored }: PresentLocalService,
  { project_root: projectRoot }: Runtime,
): boolean {
  return isThere && stored.runtime.project_root !== projectRoot;
}

/** The operation of a prune on a service that the file does not define. */
export function pruneOp(service: PresentLocalService, runtime: Runtime): PlanOp {
  const { manifest, port, runtime: theirs, service: name } = service.stored;
  const what = isOfOtherProject(service, runtime)
    ? op("drop", "service", "blocked", `service '${name}' belongs to ${theirs.project_root} and stays`)
    : op("drop", "service", "destructive", `service '${name}' of ${manifest.app_file} will be stopped and removed`);
  const details = { app_file: manifest.app_file, project_root: theirs.project_root, port };
  return { ...what, name, requires_restart: false, details };
}

function refusePort(input: PlanLocalServicesInput): void {
  const { manifest, port, target } = input;
  const chosen = chooseServices(input);
  if (port === null || chosen.length <= 1) return;
  throw appError("invalid_request", {
    detail: `--port is for one service; ${manifest.app_file} defines ${chosen.join(", ")}.`,
    hint: `Name the service: cli service update ${manifest.app_file} ${target} ${chosen[0]} --port ${port}`,
  });
}

function toPresent(input: PlanLocalServicesInput, service: PresentLocalService): PresentService {
  const { endpoint, state, stored } = service;
  return {
    name: stored.service,
    manifest: stored.manifest,
    state,
    endpoint,
    owner: ownerOf(input, service),
    changes: [...compareRuntimes(stored, input), ...comparePorts(input.port, stored)],
  };
}

function ownerOf(
  { manifest, runtime }: Pick<PlanLocalServicesInput, "manifest" | "runtime">,
  service: PresentLocalService,
): PresentService["owner"] {
  const { manifest: other, runtime: theirRuntime } = service.stored;
  const isSame = other.app_file === manifest.app_file && theirRuntime.project_root === runtime.project_root;
  return isSame || !service.is_file_there ? null : { app_file: other.app_file, place: theirRuntime.project_root };
}

function comparePorts(port: number | null, stored: StoredService): PlanOp[] {
  if (port === null || port === stored.port) return [];
  return [
    {
      ...op("alter", "service", "additive", `port ${stored.port} becomes ${port}`),
      name: stored.service,
      details: { port, previous_port: stored.port },
    },
  ];
}
