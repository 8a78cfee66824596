import { appError } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import { MAX_NAME_LENGTH } from "@appdb/contract/names";
import { nearestName } from "@appdb/contract/nearest";
import type { PlanOp, ServicePlan, ServicePlanItem } from "@appdb/contract/plan";
import { lowerViews } from "../views/lower-views.ts";
import { checkRoutes } from "./check-routes.ts";
import { compareRoutes, findService, op } from "./compare-routes.ts";

/** A file that has a service of a name. */
export interface ServiceOwner {
  readonly app_file: string;
  readonly place: string;
  /** Whether `cli service run` serves it. */
  readonly is_in_terminal?: boolean;
}

/** The current state of a service of the target. */
export interface PresentService {
  /** The name in the application file, without folders. */
  readonly name: string;
  /** The running manifest, or the pending one. */
  readonly manifest: Manifest;
  readonly state: string;
  readonly endpoint: string | null;
  /** Another file with a service of this name, and its location. Null if it belongs to the planned file or to a
   *  deleted one. */
  readonly owner: ServiceOwner | null;
  /** Changes in addition to its routes: files, environment, port. */
  readonly changes: readonly PlanOp[];
}

export interface PlanServicesInput {
  readonly manifest: Manifest;
  readonly target: string;
  /** The folder of the file, for a local target. */
  readonly place?: string;
  /** One service of the file; null means all. */
  readonly service: string | null;
  readonly present: readonly PresentService[];
  /** Tables that differ from the file. The services of such a target wait for `schema update`. */
  readonly differing_tables: readonly string[];
}

/** The effect of `service update`. Pure. @throws service_not_found, service_conflict; app_invalid for a bad route */
export function planServices(input: PlanServicesInput): ServicePlan {
  const { manifest, present, target } = input;
  const names = chooseServices(input);
  const services = names.map((name) => planService(input, name));
  const lowered = lowerViews(manifest);
  for (const service of lowered.services) if (names.includes(service.name)) checkRoutes(lowered, service);
  const extras = present
    .map(({ name }) => name)
    .filter((name) => findService(manifest, name) === undefined)
    .sort();
  return summarizePlan({ app_file: manifest.app_file, target, services, extras, ops: [], status: null });
}

/** Counts a plan's services and reports whether anything is pending. */
export function summarizePlan(plan: Omit<ServicePlan, "in_agreement" | "summary">): ServicePlan {
  const count = (resolution: ServicePlanItem["resolution"]) =>
    plan.services.filter((service) => service.resolution === resolution).length;
  return {
    ...plan,
    in_agreement: plan.services.every((service) => service.resolution === "up_to_date"),
    summary: {
      up_to_date: count("up_to_date"),
      create: count("create"),
      update_additive: count("update_additive"),
      update_destructive: count("update_destructive"),
      extras: plan.extras.length,
      blocked: count("blocked"),
      destructive: plan.services.flatMap((service) => service.ops).filter((one) => one.destructive).length,
      restarts: plan.services.filter((service) => service.exists && service.requires_restart).length,
    },
  };
}

/** The services of a plan, in the order of the file. @throws service_not_found */
export function chooseServices({ manifest, service }: Pick<PlanServicesInput, "manifest" | "service">): string[] {
  const defined = manifest.services.map((candidate) => candidate.name);
  if (service === null) return defined;
  if (defined.includes(service)) return [service];
  const suggestion = nearestName(service, defined);
  throw appError("service_not_found", {
    detail: `${manifest.app_file} defines no service '${service}'; it defines ${defined.join(", ") || "none"}.`,
    hint: suggestion === undefined ? undefined : `Did you mean ${suggestion}?`,
    meta: { service, defined },
  });
}

function planService(input: PlanServicesInput, name: string): ServicePlanItem {
  const present = input.present.find((service) => service.name === name);
  if (present?.owner != null) throw serviceConflict(input, present.name, present.owner);
  const item = {
    name,
    catalog_path: input.target,
    exists: present !== undefined,
    state: present?.state ?? null,
    endpoint: present?.endpoint ?? null,
    status: null,
  };
  if (input.differing_tables.length > 0) {
    return { ...item, resolution: "blocked", ops: [blockedOp(input)], destructive: false, requires_restart: false };
  }
  const ops = present === undefined ? createOps(input, name) : updateOps(input.manifest, present);
  const destructive = ops.some((op) => op.destructive);
  const change = destructive ? "update_destructive" : "update_additive";
  const resolution = ops.length === 0 ? "up_to_date" : change;
  return {
    ...item,
    resolution: present === undefined ? "create" : resolution,
    ops,
    destructive,
    requires_restart: ops.some((op) => op.requires_restart),
  };
}

/** Two files with the same service name would take it from each other with every update. */
export function serviceConflict(
  { manifest, place, target }: Pick<PlanServicesInput, "manifest" | "place" | "target">,
  service: string,
  owner: ServiceOwner,
  verb: "run" | "update" = "update",
): Error {
  const { app_file: file } = manifest;
  const { app_file: theirFile, is_in_terminal: isInTerminal = false, place: theirPlace } = owner;
  const where = isInTerminal ? `${theirPlace}, which serves it in a terminal` : theirPlace;
  const claimant = place === undefined || place === theirPlace ? file : `${file} of ${place}`;
  const removal = `take it out of ${theirFile} in ${theirPlace}, and run there: cli service prune ${theirFile} ${target}`;
  const steps = [
    ...(place === undefined ? [] : [useOwnDatabase({ file, place, target, verb, is_same: place === theirPlace })]),
    'rename this service: Router(name="...")',
    isInTerminal ? "press Ctrl-C in the terminal of the other one" : `remove the other one: ${removal}`,
  ].join("   or ");
  return appError("service_conflict", {
    detail: `The service ${target}/${service} belongs to ${theirFile} of ${where}; ${claimant} claims the same name.`,
    hint: `${steps[0]?.toUpperCase()}${steps.slice(1)}`,
    meta: {
      service,
      target,
      app_file: theirFile,
      place: theirPlace,
      ...(place === undefined ? {} : { own_place: place }),
    },
  });
}

/** Commands that serve the file from a local database of its own, named after its folder. */
function useOwnDatabase(own: {
  readonly file: string;
  readonly place: string;
  readonly target: string;
  readonly verb: string;
  readonly is_same: boolean;
}): string {
  const { file, is_same: isSame, place, target, verb } = own;
  const said = isSame ? file.replace(/\.py$/, "") : place;
  const last = said.split(/[/\\]/).at(-1) ?? "";
  const plain = last.toLowerCase().replaceAll(/[^a-z0-9_]/g, "_");
  const name = (/^[a-z]/.test(plain) ? plain : `own_${plain}`).slice(0, MAX_NAME_LENGTH - 2);
  const database = target.split("/")[0] === name ? `${name}_2` : name;
  return `use a database of its own: cli schema update ${file} ${database} && cli service ${verb} ${file} ${database}`;
}

function blockedOp(input: PlanServicesInput): PlanOp {
  const { differing_tables: differingTables, manifest, target } = input;
  const command = `cli schema update ${manifest.app_file} ${target}`;
  return {
    ...op("alter", "service", "blocked", `the tables must change first (${differingTables.join(", ")}): ${command}`),
    requires_restart: false,
    details: { tables: differingTables, next: command },
  };
}

function createOps(input: PlanServicesInput, name: string): PlanOp[] {
  const nothing: Manifest = { ...input.manifest, services: [] };
  return compareRoutes(nothing, input.manifest, name).map((one) => ({ ...one, requires_restart: false }));
}

function updateOps(manifest: Manifest, { changes, manifest: before, name, state }: PresentService): PlanOp[] {
  const ops = [...compareRoutes(before, manifest, name), ...changes];
  if (ops.length === 0 && (state === "STOPPED" || state === "FAILED" || state === "STOPPING")) {
    ops.push({ ...op("alter", "service", "additive", `it is ${state} and will be started`), name });
  }
  return ops;
}
