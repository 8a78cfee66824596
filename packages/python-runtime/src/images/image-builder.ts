import type { BuiltImage } from "@appdb/contract/control/image-documents";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import type { PodLabels } from "@appdb/pods/driver/pod-driver";
import type { Secret } from "@appdb/system/secret";
import type { ProjectFiles } from "./project-files.ts";

export interface ImageInput {
  /** Final folder of the image: `<images folder>/<organization id>/<environment hash>`. */
  readonly image_folder: string;
  readonly environment: EnvironmentDocument;
  readonly labels: PodLabels;
  /** Project files for the environment's listings; null when it has none. */
  readonly project: ProjectFiles | null;
  /** The database's secrets by name. A build gets those that fetch packages. */
  readonly secrets: Readonly<Record<string, Secret>>;
  /** Cache of the organization's builds, not shared with others. */
  readonly cache_folder: string;
  /** Disk limit of this build in bytes; defaults to the builder's limit. */
  readonly max_bytes?: number;
  /** Rebuilds an existing image. Running pods keep the previous one until it is collected. */
  readonly is_forced?: boolean;
  /** Receives the build's output, without secrets. */
  onLine(line: string): void;
}

/** Builds Python environments. */
export interface ImageBuilder {
  /**
   * Checks an environment before it is built. Downloads and runs nothing.
   * @throws environment_refused; system_packages_refused; build_failed when the requested Python is not available
   */
  check(environment: EnvironmentDocument, organizationId: string): Promise<void>;
  /**
   * Builds an image or finds an existing one. The image appears atomically. Safe to repeat and to be killed at any
   * point.
   * @throws build_failed with the package, the Python and the platform; environment_refused; system_packages_refused;
   * blobs_missing; pod_failed when the build could not be run; the abort's reason
   */
  build(input: ImageInput, signal: AbortSignal): Promise<BuiltImage>;
}
