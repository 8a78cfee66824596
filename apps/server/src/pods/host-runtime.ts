import type { Manifest } from "@appdb/contract/manifest";
import type { PodHealth, Resources, ServicePodHealth } from "@appdb/contract/pod-spec";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import type { ServiceLimits } from "@appdb/contract/service-limits";
import type { PodDriver } from "@appdb/pods/driver/pod-driver";
import type { UserRange } from "@appdb/pods/driver/pod-users";
import type { ImageUse } from "@appdb/python-runtime/images/collect-images";
import type { Secret } from "@appdb/system/secret";
import type { PodServerPaths } from "./database-paths.ts";
import type { FoundRuntime } from "./database-runtime.ts";
import type { PodAddress } from "./fetch-pod.ts";
import type { ImageName } from "./local-layout.ts";
import type { DatabaseAddress } from "./pod-client.ts";

/** An environment of an organization that is to be built. */
export interface ImageRequest {
  readonly org_id: string;
  readonly database_id: string;
  readonly hash: string;
  readonly environment: EnvironmentDocument;
  /** Digest of the project files, which path dependencies lie in; null when there are none. */
  readonly tree: string | null;
  /** The database's secrets: an index's credentials are among them. */
  readonly secrets: ReadonlyMap<string, Secret>;
  /** Also when there is one. */
  readonly is_forced: boolean;
  /** The most that its build may write. */
  readonly most_bytes: number;
}

/** An application file that is to be read by an image, whether or not its database runs that. */
export interface ReadInput {
  readonly org_id: string;
  readonly database_id: string;
  /** Of the image; null for the base library alone. */
  readonly hash: string | null;
  readonly tree: string;
  readonly app_file: string;
  readonly resources: Resources;
  /** Of the database's entry. */
  readonly vars: Readonly<Record<string, string>>;
  readonly secrets: ReadonlyMap<string, Secret>;
}

export interface ImageFacts {
  /** `3.12.8` */
  readonly python: string;
  readonly packages: readonly { readonly name: string; readonly version: string }[];
  readonly bytes: number;
  readonly files: number;
}

/** What databases are made of on this machine. Each may be asked for twice, and be killed in. */
export interface HostRuntime {
  readonly place: PodServerPaths;
  readonly driver: PodDriver;
  /** To whom folders of pods may have been given. */
  readonly pod_users: UserRange;
  readonly template_folder: string;
  readonly postgres_bin: string;
  /** What an operator grants each service. */
  readonly limits: ServiceLimits;
  /** Services may export rows to this machine and to private networks. */
  readonly may_export_private: boolean;
  /** Makes the cluster that new databases copy, once. @throws postgres_failed */
  ensureTemplate(): Promise<void>;
  /** Undefined when nobody answers. */
  askHealth(pod: PodAddress): Promise<PodHealth | undefined>;
  /** The trees of project files that its tables still need; undefined when nobody answers. */
  askTrees(pod: PodAddress): Promise<readonly string[] | undefined>;
  /** Undefined when nobody answers. */
  askService(pod: PodAddress): Promise<ServicePodHealth | undefined>;
  /** Has an instance of a service end by itself once nothing runs in it. False when nobody answers. */
  drainService(pod: PodAddress): Promise<boolean>;
  /** Gives an instance of a service a snapshot of keys. False when nobody answers. */
  putKeys(pod: PodAddress, snapshot: string): Promise<boolean>;
  /** Makes the role by which a service connects to its database's PostgreSQL, once that is there. @throws database_not_reached */
  ensureServiceRole(pod: DatabaseAddress, serviceId: string, signal: AbortSignal): Promise<void>;
  /** Removes it, also when there is none. @throws database_not_reached */
  dropServiceRole(pod: DatabaseAddress, serviceId: string, signal: AbortSignal): Promise<void>;
  /** @throws environment_failed, python_not_found */
  findRuntime(image: ImageName): Promise<Pick<FoundRuntime, "env" | "runtime">>;
  hasImage(orgId: string, hash: string): Promise<boolean>;
  /** Finds what is known of an environment before it is built. @throws environment_refused, system_packages_refused, build_failed */
  checkEnvironment(environment: EnvironmentDocument, organizationId: string): Promise<void>;
  /** @throws build_failed, system_packages_refused */
  buildImage(input: ImageRequest, onLine: (line: string) => void, signal: AbortSignal): Promise<ImageFacts>;
  /** Has an image's Python read an application file, bounded and kept apart as a build is; the lines are what that printed.
   *  @throws app_invalid and its kin, manifest_invalid, environment_failed; blobs_missing; the abort's reason */
  readApplication(input: ReadInput, onLine: (line: string) => void, signal: AbortSignal): Promise<Manifest>;
  removeImage(orgId: string, hash: string): Promise<void>;
  /** Removes of images and caches what nothing uses; answers how many folders went. */
  collectImages(use: ImageUse): Promise<number>;
  /** Puts the files of a tree among the project trees of a database. @throws blobs_missing, storage_quota, disk_full */
  materializeTree(
    tree: { readonly org_id: string; readonly database_id: string; readonly digest: string },
    signal: AbortSignal,
  ): Promise<void>;
}

/** What a server knows of the pods that it runs itself. */
export interface KnownPods {
  /** Whether they keep organizations apart. */
  isolates: boolean | undefined;
  /** Refuses what its images cannot be made of, before somebody asks for it; absent where another server builds them. */
  checkEnvironment?: HostRuntime["checkEnvironment"] | undefined;
}
