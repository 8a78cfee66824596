import type { Clock, Logger } from "@appdb/engine/ports";
import type { PodDriver, PodSpec, VolumeOwner, VolumeSource } from "./pod-driver.ts";
import type { UserRange } from "./pod-users.ts";
import type { PodFolder, TaskRunner } from "./task-runner.ts";

/** A driver whose pods are processes of this machine. It runs tasks as well. */
export type LocalDriver = PodDriver & TaskRunner;

/** What a driver of pods on this machine is made from. */
export interface LocalDriverInput {
  /** Where the driver keeps what it must know of pods; private, and of one driver alone. */
  readonly folder: string;
  readonly program: PodProgram;
  readonly layout: VolumeLayout;
  /** User ids that drivers which keep pods apart may give to databases and organizations; `POD_USERS` when left out. */
  readonly users?: UserRange | undefined;
  readonly log: Logger;
  readonly clock: Clock;
}

/** The pod program, run by the Node that runs us. */
export interface PodProgram {
  readonly file: string;
  readonly node_options: readonly string[];
  /** What it reads besides the folder of its file: a checkout, when it is run from source. */
  readonly folders?: readonly string[];
}

/** Where volumes and images lie on this machine. Pods of this machine see each folder under the path that it has here. */
export interface VolumeLayout {
  folder(source: VolumeSource): string;
  /** What of this machine a pod reads as its image, and of the installation. @throws environment_failed, python_not_found */
  imageFolders(spec: Pick<PodSpec, "image" | "labels">): Promise<readonly PodFolder[]>;
  /** Makes the folders of a pod that are missing. @throws postgres_failed when another user holds the name of one */
  makeFolders(spec: Pick<PodSpec, "volumes">): Promise<void>;
  listOwners(): Promise<VolumeOwner[]>;
  removeService(service: { readonly database_id: string; readonly service_id: string }): Promise<void>;
  removeDatabase(databaseId: string): Promise<void>;
}

/** What a machine lacks for a driver, for its operator. */
export interface MissingPart {
  /** `the program bwrap is not on the PATH` */
  readonly what: string;
  /** What to do about it: `apt-get install bubblewrap`. */
  readonly remedy: string;
}
