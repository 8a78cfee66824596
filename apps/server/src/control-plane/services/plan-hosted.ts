import { createHash } from "node:crypto";
import type { PlanOp, ServicePlan } from "@appdb/contract/plan";
import { compareFiles, listChanges } from "@appdb/engine/services/compare-files";
import { op } from "@appdb/engine/services/compare-routes";
import { type PresentService, planServices } from "@appdb/engine/services/plan-services";
import type { LockedService } from "./lock-services.ts";
import type { DeployedApplication } from "./read-deployed-application.ts";

/** Sorts the members of all objects, so that equal values have equal texts. */
function sortMembers<T>(value: T): T;
function sortMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => sortMembers<unknown>(item));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([name, item]) => [name, sortMembers<unknown>(item)]));
}

export interface HostedPlanInput {
  readonly application: DeployedApplication;
  /** The current database, which may have changed since its pod was asked. */
  readonly database: DeployedApplication["database"];
  /** All services of the database. */
  readonly rows: readonly LockedService[];
  /** One service of the file, or all if null. */
  readonly service: string | null;
  /** The address of a service, by its name within the database. */
  readonly endpointOf: (name: string) => string | null;
}

/** Plans `service update` on a hosted database. Pure. @throws service_not_found, service_conflict */
export function planHostedServices(input: HostedPlanInput): ServicePlan {
  const { application, rows, service } = input;
  const { differing_tables: differingTables, folders, target } = application;
  // another version may have written a manifest's members in another order
  const manifest = sortMembers(application.manifest);
  const present = rows
    .filter((row) => !row.is_pruned && folderOf(row.name) === folders.join("/"))
    .map((row) => toPresent(input, row));
  return planServices({ manifest, target, service, present, differing_tables: differingTables });
}

/** A service's name within its database, with its folders. */
export function fullName(folders: readonly string[], service: string): string {
  return [...folders, service].join("/");
}

/**
 * The version of everything that a plan depends on, by parts: files, image, workers, tables, services. People may see
 * it; programs only compare it.
 */
export function planVersion({ application, database, rows }: Omit<HostedPlanInput, "service" | "endpointOf">): string {
  const { desired, observed } = database;
  const services = rows.map(({ generation, id, is_pruned: isPruned }) => [id, generation, isPruned]);
  return [
    `files:${short(observed?.tree ?? null)}`,
    `image:${short(observed?.environment ?? null)}`,
    `workers:${desired.resources.workers}`,
    `tables:${application.catalog_version}`,
    `services:${short(services)}`,
  ].join(",");
}

function short(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);
}

function folderOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf("/")));
}

function toPresent({ application, database, endpointOf }: HostedPlanInput, row: LockedService): PresentService {
  const { app_file: appFile, entries, target } = application;
  const isConflict = row.app_file !== appFile && entries.some(({ path }) => path === row.app_file);
  return {
    name: row.name.slice(row.name.lastIndexOf("/") + 1),
    manifest: sortMembers(row.manifest),
    state: row.state,
    endpoint: endpointOf(row.name),
    owner: isConflict ? { app_file: row.app_file, place: target } : null,
    changes: [...compareProjects(application, database, row), ...compareWorkers(database, row)],
  };
}

/** The changes of files and image for a service. Unimported files count too: the code may read them. */
function compareProjects(
  { manifest }: DeployedApplication,
  database: DeployedApplication["database"],
  row: LockedService,
): PlanOp[] {
  const ops: PlanOp[] = [];
  const files = compareFiles(sortMembers(row.manifest), sortMembers(manifest));
  const { environment = null, tree = null } = database.observed ?? {};
  if (files.length > 0) ops.push({ ...op("alter", "project", "additive", listChanges(files)), details: { files } });
  else if (tree !== row.tree) {
    const text = "the database has other project files, but the application imports none of them";
    ops.push({ ...op("alter", "project", "additive", text), details: { files: [] } });
  }
  if (environment !== row.environment) {
    const text = environment === null ? "the image has the base library alone" : "the database has another image";
    ops.push({ ...op("alter", "project", "additive", text), details: { image: environment } });
  }
  return ops;
}

function compareWorkers({ desired }: DeployedApplication["database"], row: LockedService): PlanOp[] {
  const { workers } = desired.resources;
  if (workers === row.workers) return [];
  const text = `${row.workers} ${row.workers === 1 ? "worker becomes" : "workers become"} ${workers}`;
  return [
    {
      ...op("alter", "service", "additive", text),
      name: row.name,
      details: { workers, previous_workers: row.workers },
    },
  ];
}
