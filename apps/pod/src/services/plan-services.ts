import { appError } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import { nearestName } from "@appdb/contract/nearest";
import type { PlanOp, ServicePlan, ServicePlanItem } from "@appdb/contract/plan";
import type { Runtime } from "@appdb/contract/routes/local";
import { compareRoutes, op } from "./compare-routes.ts";
import { compareRuntimes } from "./compare-runtimes.ts";
import type { StoredService } from "./service-store.ts";
import type { ServiceState } from "./state.ts";

/** A service of the target as it is now. */
export interface PresentService {
  readonly stored: StoredService;
  readonly state: ServiceState;
  readonly endpoint: string | null;
  /** Its file is still where it was: a file that is gone holds no name. */
  readonly is_file_there: boolean;
}

export interface PlanServicesInput {
  readonly manifest: Manifest;
  readonly runtime: Runtime;
  readonly target: string;
  /** One service of the file, all when null. */
  readonly service: string | null;
  readonly port: number | null;
  readonly present: readonly PresentService[];
  /** Tables that are not as the file declares them; such a target's services wait for `schema update`. */
  readonly differing_tables: readonly string[];
}

/** What `service update` would do. Pure. @throws service_not_found, service_conflict, invalid_request */
export function planServices(input: PlanServicesInput): ServicePlan {
  const { manifest, present, target } = input;
  const names = chooseServices(input);
  const services = names.map((name) => planService(input, name));
  const extras = present
    .map((service) => service.stored.service)
    .filter((name) => !manifest.services.some((service) => service.name === name))
    .sort();
  return summarizePlan({ app_file: manifest.app_file, target, services, extras, ops: [], status: null });
}

/** Counts a plan's services and says whether anything is to be done. */
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

function chooseServices(input: PlanServicesInput): string[] {
  const { manifest, port, service } = input;
  const defined = manifest.services.map((candidate) => candidate.name);
  if (service !== null && !defined.includes(service)) {
    const near = nearestName(service, defined);
    throw appError("service_not_found", {
      detail: `${manifest.app_file} defines no service '${service}'; it defines ${defined.join(", ") || "none"}.`,
      hint: near === undefined ? undefined : `Did you mean ${near}?`,
      meta: { service, defined },
    });
  }
  const chosen = service === null ? defined : [service];
  if (port !== null && chosen.length > 1) {
    throw appError("invalid_request", {
      detail: `--port is for one service; ${manifest.app_file} defines ${defined.join(", ")}.`,
      hint: `Name the service: cli service update ${manifest.app_file} ${input.target} ${defined[0]} --port ${port}`,
    });
  }
  return chosen;
}

function planService(input: PlanServicesInput, name: string): ServicePlanItem {
  const present = input.present.find((service) => service.stored.service === name);
  if (present !== undefined) refuseConflict(input, present);
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
  const ops = present === undefined ? createOps(input, name) : updateOps(input, present);
  const destructive = ops.some((one) => one.destructive);
  const resolution = ops.length === 0 ? "up_to_date" : destructive ? "update_destructive" : "update_additive";
  return {
    ...item,
    resolution: present === undefined ? "create" : resolution,
    ops,
    destructive,
    requires_restart: ops.some((one) => one.requires_restart),
  };
}

/** Two files that claim one name would take the service from each other with every update. */
function refuseConflict(input: PlanServicesInput, present: PresentService): void {
  const { manifest, runtime, target } = input;
  const theirs = present.stored;
  const is_same =
    theirs.manifest.app_file === manifest.app_file && theirs.runtime.project_root === runtime.project_root;
  if (is_same || !present.is_file_there) return;
  const place = `${theirs.manifest.app_file} of ${theirs.runtime.project_root}`;
  throw appError("service_conflict", {
    detail: `The service ${target}/${theirs.service} belongs to ${place}; ${manifest.app_file} claims the same name.`,
    hint: `Give one of them another name, or remove it there and run in that project: cli service prune ${theirs.manifest.app_file} ${target}`,
    meta: {
      service: theirs.service,
      target,
      app_file: theirs.manifest.app_file,
      project_root: theirs.runtime.project_root,
    },
  });
}

function blockedOp(input: PlanServicesInput): PlanOp {
  const { differing_tables, manifest, target } = input;
  const command = `cli schema update ${manifest.app_file} ${target}`;
  return {
    ...op(
      "alter",
      "service",
      "blocked",
      `the tables have to change first (${differing_tables.join(", ")}): ${command}`,
    ),
    requires_restart: false,
    details: { tables: differing_tables, next: command },
  };
}

function createOps(input: PlanServicesInput, name: string): PlanOp[] {
  const nothing: Manifest = { ...input.manifest, services: [] };
  return compareRoutes(nothing, input.manifest, name).map((one) => ({ ...one, requires_restart: false }));
}

function updateOps(input: PlanServicesInput, present: PresentService): PlanOp[] {
  const { stored, state } = present;
  const ops = [...compareRoutes(stored.manifest, input.manifest, stored.service), ...compareRuntimes(stored, input)];
  if (input.port !== null && input.port !== stored.port) {
    ops.push({
      ...op("alter", "service", "additive", `port ${stored.port} becomes ${input.port}`),
      name: stored.service,
      details: { port: input.port, previous_port: stored.port },
    });
  }
  if (ops.length === 0 && (state === "STOPPED" || state === "FAILED" || state === "STOPPING")) {
    ops.push({ ...op("alter", "service", "additive", `it is ${state} and will be started`), name: stored.service });
  }
  return ops;
}
