import type { BlobStore } from "@appdb/adapters/blobs/blob-store";
import type { Logger } from "@appdb/engine/ports";
import type { RecordEvent } from "../audit/event.ts";
import type { ServerConfig } from "../config/config.ts";
import type { Notifications } from "../database/notifications.ts";
import type { Database } from "../database/pool.ts";
import type { KeySnapshots } from "../edge/key-snapshots.ts";
import type { Machine } from "../pods/machine.ts";
import type { Envelope } from "../secrets/envelope.ts";
import type { ServiceKeys } from "./service-keys.ts";

/** What is done to a database, in order; which of them are due depends on what it shall be. A test ends the process behind each. */
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

/** The same of a service. */
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

export interface ReconcileDeps {
  readonly config: Pick<ServerConfig, "home" | "quotas">;
  readonly db: Database;
  readonly log: Logger;
  readonly recordEvent: RecordEvent;
  readonly envelope: Envelope;
  readonly notifications: Notifications;
  readonly snapshots: KeySnapshots;
  readonly service_keys: ServiceKeys;
  readonly machine: Machine;
  readonly blobs: BlobStore;
  /** Called behind steps, so that a test can kill the process there. */
  readonly reconcileStepDone?: ((step: ReconcileStep | ServiceStep) => Promise<void>) | undefined;
}
