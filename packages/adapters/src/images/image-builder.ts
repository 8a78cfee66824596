import type { BuiltImage } from "@appdb/contract/control/image-documents";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import type { PodLabels } from "../pods/pod-driver.ts";
import type { Secret } from "../secret.ts";

export interface ImageInput {
  /** Where the image lies once it is whole: `<images folder>/<organization id>/<environment hash>`. */
  readonly image_folder: string;
  readonly environment: EnvironmentDocument;
  readonly labels: PodLabels;
  /** A tree of the project's files, of which the environment's listings are built in; null when there is none. */
  readonly project_folder: string | null;
  /** The database's secrets by name; a build gets those that packages are fetched with. */
  readonly secrets: Readonly<Record<string, Secret>>;
  /** What the organization's builds have fetched and made, theirs alone. */
  readonly cache_folder: string;
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
  check(environment: EnvironmentDocument): Promise<void>;
  /**
   * Builds an image, or finds it: it appears whole or not at all. Safe to repeat and to be killed in.
   * @throws build_failed with the package, the Python and the platform; environment_refused; system_packages_refused; pod_failed when the
   *  build could not be run; the abort's reason
   */
  build(input: ImageInput, signal: AbortSignal): Promise<BuiltImage>;
}
