import type { Manifest } from "@appdb/contract/manifest";
import type { ServicePodSpec } from "@appdb/contract/pod-spec";
import type { Runtime } from "@appdb/contract/runtime";
import type { ServiceLimits } from "@appdb/contract/service-limits";
import type { PodFolder, PodSpec } from "@appdb/pods/driver/pod-driver";
import { Secret } from "@appdb/system/secret";
import type { ObservedDatabase } from "../database/desired.ts";
import { databaseEnvironment, noticesOf } from "./database-environment.ts";
import { tasksOf, workerMemory } from "./pod-bounds.ts";
import type { ServicePaths } from "./service-paths.ts";

export interface ServicePodInput {
  readonly service: { readonly id: string; readonly name: string; readonly uri: string; readonly instance: number };
  readonly database: {
    readonly id: string;
    readonly org_id: string;
    readonly organization: string;
    readonly name: string;
    /** Folder of PostgreSQL's socket. */
    readonly run_folder: string;
  };
  /** The database's bounds and settings, which its services share. */
  readonly shared: Pick<ObservedDatabase, "resources" | "settings">;
  readonly release: { readonly manifest: Manifest; readonly workers: number };
  readonly places: ServicePaths;
  readonly token: Secret;
  /** Limits that do not depend on its resources. */
  readonly limits: ServiceLimits;
  /** Connects with the service's PostgreSQL role. */
  readonly dsn: string;
  readonly keys: ServicePodSpec["keys"];
  readonly may_export_private: boolean;
  readonly secrets: ReadonlyMap<string, Secret>;
  /** The runtime without its environment, which is built here. */
  readonly runtime: Omit<Runtime, "env">;
  /** The image's program and library paths. */
  readonly runtime_env: Readonly<Record<string, string>>;
  /** The release's tree, its Python and the image. */
  readonly code_folders: readonly string[];
}

/** Builds the spec of a service instance. Pure: equal instances have equal specs. */
export function servicePodSpec(input: ServicePodInput): PodSpec {
  const { database, places, release, service, shared } = input;
  const resources = { ...shared.resources, workers: release.workers };
  const revealed = [...input.secrets].map(([name, secret]) => [name, secret.reveal()] as const);
  const { env, left_out: leftOut } = databaseEnvironment(
    shared.settings.vars,
    Object.fromEntries(revealed),
    input.runtime_env,
  );
  const told: ServicePodSpec = {
    role: "service-pod",
    service_id: service.id,
    database_id: database.id,
    instance: service.instance,
    organization: database.organization,
    database: database.name,
    service: service.name,
    uri: service.uri,
    token: input.token.reveal(),
    dsn: input.dsn,
    scratch_folder: places.scratch_folder,
    run_folder: places.run_folder,
    log_folder: places.log_folder,
    resources,
    limits: { ...input.limits, workers: release.workers, worker_memory_mb: workerMemory(resources) },
    manifest: release.manifest,
    runtime: { ...input.runtime, env: { ...env } },
    keys: input.keys,
    may_export_private: input.may_export_private,
    notices: noticesOf(leftOut),
  };
  return {
    id: places.pod_id,
    labels: { organization_id: database.org_id, database_id: database.id, kind: "service" },
    args: ["pod.js", "service-pod"],
    input: new Secret(JSON.stringify(told)),
    folders: [
      { path: places.scratch_folder, mode: "write" },
      { path: database.run_folder, mode: "read" },
      ...[...new Set(input.code_folders)].map((path): PodFolder => ({ path, mode: "code" })),
    ],
    run_folder: places.run_folder,
    log_folder: places.log_folder,
    // limits of the group that it shares with its database's pod
    limits: { cpu: resources.cpu, memory_mb: resources.memory_mb, tasks: tasksOf(shared.resources) },
    network: "internet",
  };
}
