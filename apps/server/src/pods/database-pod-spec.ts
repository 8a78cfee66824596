import type { DatabasePodSpec } from "@appdb/contract/pod-spec";
import { PROGRAMS_FOLDER } from "@appdb/contract/program-code";
import type { Runtime } from "@appdb/contract/runtime";
import type { ServiceLimits } from "@appdb/contract/service-limits";
import type { PodSpec, PodVolume, VolumeSource } from "@appdb/pods/driver/pod-driver";
import { Secret } from "@appdb/system/secret";
import type { ObservedDatabase } from "../database/desired.ts";
import { databaseEnvironment, noticesOf } from "./database-environment.ts";
import { databasePod } from "./database-paths.ts";
import { bucketAccess, MEDIA_CODE_PARTS, mediaPlace } from "./media-place.ts";
import { limitsWithin, tasksOf } from "./pod-bounds.ts";
import { mediaLinkToken } from "./service-token.ts";

export interface DatabasePodInput {
  readonly database: { readonly id: string; readonly org_id: string; readonly uri: string };
  readonly desired: Pick<ObservedDatabase, "environment" | "resources" | "settings">;
  /** `PodDriver.target` */
  target(source: VolumeSource): string;
  readonly template_folder: string;
  readonly postgres_bin: string;
  readonly token: Secret;
  /** Whether the operator has a bucket for media. */
  readonly has_bucket: boolean;
  /** Limit of its media store there without a setting of its own. */
  readonly default_media_gb: number | undefined;
  /** Free bytes of the server's disk below which it refuses writes; 0: no reserve. */
  readonly disk_floor_bytes: number;
  /** Limits that do not depend on its resources. */
  readonly limits: ServiceLimits;
  readonly secrets: ReadonlyMap<string, Secret>;
  /** The runtime without its environment, which is built here. */
  readonly runtime: Omit<Runtime, "env">;
  /** The image's program and library paths. */
  readonly runtime_env: Readonly<Record<string, string>>;
}

/** Builds the spec of a database's pod. Pure: equal databases have equal specs. */
export function databasePodSpec(input: DatabasePodInput): PodSpec {
  const { database, desired } = input;
  const volumes = volumesOf(input);
  const bucket = bucketAccess({ ...input, database_id: database.id });
  const { resources } = desired;
  const revealed = [...input.secrets].map(([name, secret]) => [name, secret.reveal()] as const);
  const { env, omitted } = databaseEnvironment(desired.settings.vars, Object.fromEntries(revealed), input.runtime_env);
  const spec: DatabasePodSpec = {
    role: "database",
    database_id: database.id,
    uri: database.uri,
    data_folder: volumes.data.target,
    template_folder: input.template_folder,
    postgres_bin: input.postgres_bin,
    run_folder: volumes.sockets.target,
    log_folder: volumes.logs.target,
    services_folder: volumes.services.target,
    token: input.token.reveal(),
    link_token: mediaLinkToken(input.token, database.id).reveal(),
    resources,
    limits: limitsWithin(input.limits, resources),
    runtime: { ...input.runtime, env: { ...env } },
    files_folder: volumes.trees.target,
    media: mediaPlace({
      bucket,
      folder: volumes.media.target,
      uri: database.uri,
      disk_gb: resources.disk_gb,
      settings: desired.settings,
    }),
    ...(bucket === undefined ? {} : { media_gb: desired.settings.media_gb ?? input.default_media_gb }),
    ...(input.disk_floor_bytes > 0 ? { disk_floor_bytes: input.disk_floor_bytes } : {}),
    notices: noticesOf(omitted),
  };
  return {
    id: databasePod(database.id).id,
    labels: { organization_id: database.org_id, database_id: database.id, kind: "database" },
    args: ["pod.js", "database"],
    input: new Secret(JSON.stringify(spec)),
    image: desired.environment,
    volumes: [...Object.values(volumes), ...(bucket === undefined ? [] : [bucket.volume])],
    ports: ["api", "link", "postgres"],
    limits: {
      cpu: resources.cpu,
      memory_mb: resources.memory_mb,
      tasks: tasksOf(resources),
    },
    network: "internet",
  };
}

function volumesOf({ database, target }: DatabasePodInput) {
  const { id } = database;
  const volume = (name: string, source: VolumeSource, access: PodVolume["access"]): PodVolume => {
    return { name, source, target: target(source), access };
  };
  return {
    data: {
      ...volume("data", { kind: "data", database_id: id }, "write"),
      code_parts: [{ name: PROGRAMS_FOLDER, access: "read" as const }],
    },
    services: volume("services", { kind: "services", database_id: id }, "read"),
    trees: volume("trees", { kind: "project-trees", database_id: id }, "code"),
    sockets: volume("sockets", { kind: "sockets", pod: databasePod(id) }, "write"),
    media: {
      ...volume("media", { kind: "media", database_id: id }, "write"),
      code_parts: MEDIA_CODE_PARTS,
    },
    logs: volume("logs", { kind: "logs", database_id: id, service_id: null }, "write"),
  };
}
