import type { Logger } from "@appdb/engine/ports";
import type { BlobStore } from "@appdb/system/blobs/blob-store";
import type { RecordEvent } from "../../audit/event.ts";
import type { ServerConfig } from "../../config/config.ts";
import type { Notifications } from "../../database/notifications.ts";
import type { ControlDatabase } from "../../database/pool.ts";
import type { KeySnapshots } from "../../edge/key-snapshots.ts";
import type { PodAddress } from "../../pods/fetch-pod.ts";
import type { HostRuntime } from "../../pods/host-runtime.ts";
import type { Envelope } from "../../secrets/envelope.ts";
import type { MediaBucket } from "../../storage/media-bucket.ts";

/** Steps of a database in order. Its desired state decides which of them run. A test kills the process after each. */
export const RECONCILE_STEPS = [
  "begun",
  "building",
  "image_there",
  "built",
  "prepared",
  "committed",
  "pod_stopped",
  "pod_started",
  "pod_ready",
  "storage_removed",
  "ended",
] as const;
export type ReconcileStep = (typeof RECONCILE_STEPS)[number];

/** Steps of a service. */
export const SERVICE_STEPS = [
  "service begun",
  "service prepared",
  "service pod_started",
  "service pod_ready",
  "service switched",
  "service retired",
  "service pod_stopped",
  "service ended",
] as const;
export type ServiceStep = (typeof SERVICE_STEPS)[number];

export interface KeyedDatabase {
  readonly id: string;
  readonly org_id: string;
  readonly organization: string;
  readonly name: string;
}

/** Pushes snapshots of keys to the pods of services. */
export interface ServiceKeyPusher extends AsyncDisposable {
  /** Sends every snapshot to the pods of a database's services from now on. Resolves when the first one was sent. */
  follow(database: KeyedDatabase): Promise<void>;
  /** Sends the current snapshot to an instance before its first request. @throws pod_failed if it is refused */
  push(database: KeyedDatabase, address: PodAddress): Promise<void>;
}

export interface ReconcileDeps {
  readonly config: Pick<ServerConfig, "home" | "quotas">;
  readonly db: ControlDatabase;
  readonly log: Logger;
  readonly recordEvent: RecordEvent;
  readonly envelope: Envelope;
  readonly notifications: Notifications;
  readonly snapshots: KeySnapshots;
  readonly service_keys: ServiceKeyPusher;
  readonly machine: HostRuntime;
  readonly blobs: BlobStore;
  /** The bucket of all media stores. Undefined: they are in the home. */
  readonly bucket?: MediaBucket | undefined;
  /** Called after steps, so that a test can kill the process there. */
  readonly reconcileStepDone?: ((step: ReconcileStep | ServiceStep) => Promise<void>) | undefined;
}
