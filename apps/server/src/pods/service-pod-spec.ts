import { databaseUriOf } from "@appdb/contract/control/resource-names";
import type { Manifest } from "@appdb/contract/manifest";
import type { ServicePodSpec } from "@appdb/contract/pod-spec";
import type { Runtime } from "@appdb/contract/runtime";
import type { ServiceLimits } from "@appdb/contract/service-limits";
import type { PodSpec, PodVolume, VolumeSource } from "@appdb/pods/driver/pod-driver";
import { Secret } from "@appdb/system/secret";
import type { ObservedDatabase } from "../database/desired.ts";
import { databaseEnvironment, noticesOf } from "./database-environment.ts";
import { databasePod } from "./database-paths.ts";
import { bucketAccess, MEDIA_CODE_PARTS, mediaPlace } from "./media-place.ts";
import { limitsWithin, tasksOf } from "./pod-bounds.ts";
import { servicePod, servicePodId } from "./service-paths.ts";

export interface ServicePodInput {
  readonly service: { readonly id: string; readonly name: string; readonly uri: string; readonly instance: number };
  readonly database: {
    readonly id: string;
    readonly org_id: string;
    readonly organization: string;
    readonly name: string;
  };
  /** The database's bounds and settings, which its services share. */
  readonly shared: Pick<ObservedDatabase, "resources" | "settings">;
  readonly release: {
    readonly manifest: Manifest;
    readonly workers: number;
    readonly tree: string | null;
    readonly environment: string | null;
  };
  /** `PodDriver.target` */
  target(source: VolumeSource): string;
  readonly token: Secret;
  /** Whether the operator has a bucket for media. */
  readonly has_bucket: boolean;
  /** Of its database's pod. */
  readonly database_token: Secret;
  /** Limits that do not depend on its resources. */
  readonly limits: ServiceLimits;
  /** Connects with the service's PostgreSQL role. */
  readonly dsn: string;
  readonly keys: ServicePodSpec["keys"];
  readonly may_export_private: boolean;
  readonly secrets: ReadonlyMap<string, Secret>;
  /** Without its files and its environment, which are named here. */
  readonly runtime: Omit<Runtime, "env" | "project_root">;
  /** The image's program and library paths. */
  readonly runtime_env: Readonly<Record<string, string>>;
}

/** Builds the spec of a service instance. Pure: equal instances have equal specs. */
export function servicePodSpec(input: ServicePodInput): PodSpec {
  const { database, release, service, shared } = input;
  const volumes = volumesOf(input);
  const bucket = bucketAccess({ ...input, database_id: database.id, token: input.database_token });
  const resources = { ...shared.resources, workers: release.workers };
  const revealed = [...input.secrets].map(([name, secret]) => [name, secret.reveal()] as const);
  const { env, omitted } = databaseEnvironment(shared.settings.vars, Object.fromEntries(revealed), input.runtime_env);
  const spec: ServicePodSpec = {
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
    scratch_folder: volumes.scratch.target,
    run_folder: volumes.sockets.target,
    log_folder: volumes.logs.target,
    resources,
    limits: limitsWithin(input.limits, resources),
    manifest: release.manifest,
    runtime: { ...input.runtime, project_root: volumes.tree.target, env: { ...env } },
    media: mediaPlace({
      bucket,
      folder: volumes.media.target,
      uri: databaseUriOf(database.organization, database.name),
      disk_gb: resources.disk_gb,
      settings: shared.settings,
    }),
    keys: input.keys,
    may_export_private: input.may_export_private,
    notices: noticesOf(omitted),
  };
  return {
    id: servicePodId(service.id, service.instance),
    labels: { organization_id: database.org_id, database_id: database.id, kind: "service" },
    args: ["pod.js", "service-pod"],
    input: new Secret(JSON.stringify(spec)),
    image: release.environment,
    volumes: [...Object.values(volumes), ...(bucket === undefined ? [] : [bucket.volume])],
    ports: ["api", "link"],
    // limits of the group that it shares with its database's pod
    limits: { cpu: resources.cpu, memory_mb: resources.memory_mb, tasks: tasksOf(shared.resources) },
    network: "internet",
  };
}

function volumesOf({ database, release, service, target }: ServicePodInput) {
  const { id } = database;
  const pod = servicePod({ id: service.id, database_id: id }, service.instance);
  const volume = (name: string, source: VolumeSource, access: PodVolume["access"]): PodVolume => {
    return { name, source, target: target(source), access };
  };
  return {
    scratch: volume("scratch", { kind: "scratch", pod }, "write"),
    postgres: volume("postgres", { kind: "sockets", pod: databasePod(id) }, "read"),
    tree: volume("tree", { kind: "project-tree", database_id: id, digest: release.tree }, "code"),
    sockets: volume("sockets", { kind: "sockets", pod }, "write"),
    media: {
      ...volume("media", { kind: "media", database_id: id }, "write"),
      code_parts: MEDIA_CODE_PARTS,
    },
    logs: volume("logs", { kind: "logs", database_id: id, service_id: service.id }, "write"),
  };
}
