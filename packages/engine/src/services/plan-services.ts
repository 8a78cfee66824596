import { appError } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import { nearestName } from "@appdb/contract/nearest";
import type { PlanOp, ServicePlan, ServicePlanItem } from "@appdb/contract/plan";
import { compareRoutes, findService, op } from "./compare-routes.ts";

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
  readonly owner: { readonly app_file: string; readonly place: string } | null;
  /** Changes in addition to its routes: files, environment, port. */
  readonly changes: readonly PlanOp[];
}

export interface PlanServicesInput {
  readonly manifest: Manifest;
  readonly target: string;
  /** One service of the file; null means all. */
  readonly service: string | null;
  readonly present: readonly PresentService[];
  /** Tables that differ from the file. The services of such a target wait for `schema update`. */
  readonly differing_tables: readonly string[];
}

/** The effect of `service update`. Pure. @throws service_not_found, service_conflict */
export function planServices(input: PlanServicesInput): ServicePlan {
  const { manifest, present, target } = input;
  const names = chooseServices(input);
  const services = names.map((name) => planService(input, name));
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
  { manifest, target }: Pick<PlanServicesInput, "manifest" | "target">,
  service: string,
  { app_file: appFile, place }: NonNullable<PresentService["owner"]>,
  verb: "run" | "update" = "update",
): Error {
  return appError("service_conflict", {
    detail: `The service ${target}/${service} belongs to ${appFile} of ${place}; ${manifest.app_file} claims the same name.`,
    hint: `Rename this one: Router(name="..."), or use a database of your own: cli service ${verb} ${manifest.app_file} <name>. To remove the other one, take it out of ${appFile} in ${place}, and run there: cli service prune ${appFile} ${target}`,
    meta: { service, target, app_file: appFile, place },
  });
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
