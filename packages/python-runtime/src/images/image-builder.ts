import type { BuiltImage } from "@appdb/contract/control/image-documents";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import type { PodLabels } from "@appdb/pods/driver/pod-driver";
import type { Secret } from "@appdb/system/secret";
import type { ProjectFiles } from "./project-files.ts";

export interface ImageInput {
  /** Where the image lies once it is whole: `<images folder>/<organization id>/<environment hash>`. */
  readonly image_folder: string;
  readonly environment: EnvironmentDocument;
  readonly labels: PodLabels;
  /** The project's files, from which the environment's listings are built in; null when there are none. */
  readonly project: ProjectFiles | null;
  /** The database's secrets by name; a build gets those that packages are fetched with. */
  readonly secrets: Readonly<Record<string, Secret>>;
  /** What the organization's builds have fetched and made, theirs alone. */
  readonly cache_folder: string;
  /** The most that its build may write; left out for what the builder grants any. */
  readonly most_bytes?: number;
  /** Builds it although it is there; what was there stays where running pods see it until it is collected. */
  readonly is_forced?: boolean;
  /** What the build says, without secrets. */
  onLine(line: string): void;
}

/** Makes Python environments. */
export interface ImageBuilder {
  /**
   * Finds what is known of an environment before it is built: nothing is fetched and nothing is run.
   * @throws environment_refused; system_packages_refused; build_failed for a Python that cannot be had
   */
  check(environment: EnvironmentDocument, organizationId: string): Promise<void>;
  /**
   * Builds an image, or finds it: it appears whole or not at all. Safe to repeat and to be killed in.
   * @throws build_failed with the package, the Python and the platform; environment_refused; system_packages_refused; blobs_missing; pod_failed
   *  when the build could not be run; the abort's reason
   */
  build(input: ImageInput, signal: AbortSignal): Promise<BuiltImage>;
}
