import { dirname } from "node:path";
import type { DatabasePodSpec } from "@appdb/contract/pod-spec";
import type { Runtime } from "@appdb/contract/runtime";
import type { ServiceLimits } from "@appdb/contract/service-limits";
import type { PodFolder, PodSpec } from "@appdb/pods/driver/pod-driver";
import { Secret } from "@appdb/system/secret";
import type { ObservedDatabase } from "../database/desired.ts";
import { databaseEnvironment, noticesOf } from "./database-environment.ts";
import type { DatabasePaths } from "./database-paths.ts";
import { tasksOf, workerMemory } from "./pod-bounds.ts";

export interface DatabasePodInput {
  readonly database: { readonly id: string; readonly org_id: string; readonly uri: string };
  readonly wanted: Pick<ObservedDatabase, "resources" | "settings">;
  readonly places: DatabasePaths;
  readonly template_folder: string;
  readonly postgres_bin: string;
  readonly token: Secret;
  /** Limits that do not depend on its resources. */
  readonly limits: ServiceLimits;
  readonly secrets: ReadonlyMap<string, Secret>;
  /** The runtime without its environment, which is built here. */
  readonly runtime: Omit<Runtime, "env">;
  /** The image's program and library paths. */
  readonly runtime_env: Readonly<Record<string, string>>;
  /** Folders that the runtime reads: its Python and the image. */
  readonly code_folders: readonly string[];
}

/** Builds the spec of a database's pod. Pure: equal databases have equal specs. */
export function databasePodSpec(input: DatabasePodInput): PodSpec {
  const { database, places, wanted } = input;
  const { resources } = wanted;
  const revealed = [...input.secrets].map(([name, secret]) => [name, secret.reveal()] as const);
  const { env, left_out: leftOut } = databaseEnvironment(
    wanted.settings.vars,
    Object.fromEntries(revealed),
    input.runtime_env,
  );
  const told: DatabasePodSpec = {
    role: "database",
    database_id: database.id,
    uri: database.uri,
    data_folder: places.data_folder,
    template_folder: input.template_folder,
    postgres_bin: input.postgres_bin,
    run_folder: places.run_folder,
    log_folder: places.log_folder,
    services_folder: places.services_folder,
    token: input.token.reveal(),
    resources,
    limits: {
      ...input.limits,
      workers: resources.workers,
      worker_memory_mb: workerMemory(resources),
    },
    runtime: { ...input.runtime, env: { ...env } },
    files_folder: places.files_folder,
    notices: noticesOf(leftOut),
  };
  return {
    id: places.pod_id,
    labels: { organization_id: database.org_id, database_id: database.id, kind: "database" },
    args: ["pod.js", "database"],
    input: new Secret(JSON.stringify(told)),
    folders: foldersOf(input),
    run_folder: places.run_folder,
    log_folder: places.log_folder,
    limits: {
      cpu: resources.cpu,
      memory_mb: resources.memory_mb,
      tasks: tasksOf(resources),
    },
    network: "internet",
  };
}

function foldersOf({
  code_folders: codeFolders,
  places,
  postgres_bin: postgresBin,
  template_folder: templateFolder,
}: DatabasePodInput): PodFolder[] {
  const code = new Set([places.files_folder, ...codeFolders]);
  // its libraries are next to its programs
  const read = [templateFolder, dirname(postgresBin)].filter((path) => !code.has(path));
  return [
    { path: places.data_folder, mode: "write" },
    { path: places.services_folder, mode: "read" },
    ...read.map((path): PodFolder => ({ path, mode: "read" })),
    ...[...code].map((path): PodFolder => ({ path, mode: "code" })),
  ];
}
