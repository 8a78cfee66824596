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

/** A requested image of an organization. */
export interface ImageRequest {
  readonly org_id: string;
  readonly database_id: string;
  readonly hash: string;
  readonly environment: EnvironmentDocument;
  /** Digest of the project files, which contain path dependencies. Null without files. */
  readonly tree: string | null;
  /** The database's secrets, which may contain credentials of an index. */
  readonly secrets: ReadonlyMap<string, Secret>;
  /** Whether to build it even if it exists. */
  readonly is_forced: boolean;
  /** Maximum bytes that the build may write. */
  readonly max_bytes: number;
}

/** An application file to be read by an image, which its database need not run. */
export interface ReadInput {
  readonly org_id: string;
  readonly database_id: string;
  /** The image's hash. Null for the base library alone. */
  readonly hash: string | null;
  readonly tree: string;
  readonly app_file: string;
  readonly resources: Resources;
  /** Variables of the database's entry. */
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

/** The machine's facilities for databases. Each call may be repeated, also after a kill. */
export interface HostRuntime {
  readonly paths: PodServerPaths;
  readonly driver: PodDriver;
  /** User ids that may own folders of pods. */
  readonly pod_users: UserRange;
  readonly template_folder: string;
  readonly postgres_bin: string;
  /** The operator's limits for each service. */
  readonly limits: ServiceLimits;
  /** Whether services may export rows to this machine and to private networks. */
  readonly may_export_private: boolean;
  /** Creates the cluster that new databases copy, once. @throws postgres_failed */
  ensureTemplate(): Promise<void>;
  /** Undefined without an answer. */
  askHealth(pod: PodAddress): Promise<PodHealth | undefined>;
  /** Trees of project files that its tables need. Undefined without an answer. */
  askTrees(pod: PodAddress): Promise<readonly string[] | undefined>;
  /** Tells the pod its current tree of project files. False without an answer. */
  useTree(pod: PodAddress, digest: string): Promise<boolean>;
  /** Undefined without an answer. */
  askService(pod: PodAddress): Promise<ServicePodHealth | undefined>;
  /** Drains a service instance, which then ends. False without an answer. */
  drainService(pod: PodAddress): Promise<boolean>;
  /** Sends a snapshot of keys to a service instance. False without an answer. */
  putKeys(pod: PodAddress, snapshot: string): Promise<boolean>;
  /** Creates the PostgreSQL role of a service, once PostgreSQL runs. @throws database_not_reached */
  ensureServiceRole(pod: DatabaseAddress, serviceId: string, signal: AbortSignal): Promise<void>;
  /** Removes the role, if it exists. @throws database_not_reached */
  dropServiceRole(pod: DatabaseAddress, serviceId: string, signal: AbortSignal): Promise<void>;
  /** @throws environment_failed, python_not_found */
  findRuntime(image: ImageName): Promise<Pick<FoundRuntime, "env" | "runtime">>;
  hasImage(orgId: string, hash: string): Promise<boolean>;
  /** Checks an environment before it is built. @throws environment_refused, system_packages_refused, build_failed */
  checkEnvironment(environment: EnvironmentDocument, organizationId: string): Promise<void>;
  /** @throws build_failed, system_packages_refused */
  buildImage(input: ImageRequest, onLine: (line: string) => void, signal: AbortSignal): Promise<ImageFacts>;
  /**
   * Makes an image's Python read an application file, isolated like a build. The lines are its output.
   * @throws app_invalid and related codes, manifest_invalid, environment_failed; blobs_missing; the abort's reason
   */
  readApplication(input: ReadInput, onLine: (line: string) => void, signal: AbortSignal): Promise<Manifest>;
  removeImage(orgId: string, hash: string): Promise<void>;
  /** Removes unused images and caches. Returns the number of removed folders. */
  collectImages(use: ImageUse): Promise<number>;
  /** Puts the files of a tree among the project trees of a database. @throws blobs_missing, storage_quota, disk_full */
  materializeTree(
    tree: { readonly org_id: string; readonly database_id: string; readonly digest: string },
    signal: AbortSignal,
  ): Promise<void>;
}

/** The server's knowledge about pods that it runs itself. */
export interface KnownPods {
  /** Whether pods isolate organizations. */
  isolates: boolean | undefined;
  /** Refuses an environment that cannot be built. Absent if another server builds images. */
  checkEnvironment?: HostRuntime["checkEnvironment"] | undefined;
}
