import type { DatabaseState } from "../routes/control-databases.ts";

/** User requests, and observations of the reconciler. */
export const DATABASE_EVENTS = {
  update: "an update was requested",
  build_image: "another build of the image was requested",
  start: "a start was requested, or a request woke it",
  stop: "a stop was requested, or it was idle long enough",
  restart: "a restart was requested",
  retry: "a retry was requested",
  delete: "its deletion was requested",
  undelete: "its deletion was cancelled",
  ready: "its pod responds",
  build_failed: "its image could not be built",
  start_failed: "its pod could not be started, or ended repeatedly",
  stopped: "its pods have ended",
  lost: "its pod no longer responds",
} as const;
export type DatabaseEvent = keyof typeof DATABASE_EVENTS;

type Next = DatabaseState | "refuse";

const REFUSE_ALL = {
  update: "refuse",
  build_image: "refuse",
  start: "refuse",
  stop: "refuse",
  restart: "refuse",
  retry: "refuse",
  delete: "refuse",
  undelete: "refuse",
  ready: "refuse",
  build_failed: "refuse",
  start_failed: "refuse",
  stopped: "refuse",
  lost: "refuse",
} as const satisfies Record<DatabaseEvent, Next>;

/**
 * State and event to next state. A request for the current state succeeds and does nothing. Total: the compiler demands
 * every cell. docs/databases.md is generated from it, and the dashboard offers actions by it.
 */
export const DATABASE_TRANSITIONS = {
  // Created for the first time, or rebuilt after a failed first build.
  PROVISIONING: {
    ...REFUSE_ALL,
    delete: "DELETING",
    ready: "AVAILABLE",
    build_failed: "FAILED",
    start_failed: "FAILED",
    lost: "PROVISIONING",
  },
  UPDATING: {
    ...REFUSE_ALL,
    delete: "DELETING",
    ready: "AVAILABLE",
    // It continues with its current image; last_build has the result.
    build_failed: "AVAILABLE",
    start_failed: "FAILED",
    lost: "UPDATING",
  },
  AVAILABLE: {
    ...REFUSE_ALL,
    update: "UPDATING",
    build_image: "UPDATING",
    start: "AVAILABLE",
    stop: "STOPPING",
    restart: "STARTING",
    delete: "DELETING",
    ready: "AVAILABLE",
    start_failed: "FAILED",
    lost: "STARTING",
  },
  STOPPING: { ...REFUSE_ALL, stop: "STOPPING", delete: "DELETING", stopped: "STOPPED", lost: "STOPPING" },
  STOPPED: { ...REFUSE_ALL, start: "STARTING", stop: "STOPPED", delete: "DELETING", stopped: "STOPPED" },
  STARTING: {
    ...REFUSE_ALL,
    start: "STARTING",
    stop: "STOPPING",
    delete: "DELETING",
    ready: "AVAILABLE",
    start_failed: "FAILED",
    lost: "STARTING",
  },
  FAILED: {
    ...REFUSE_ALL,
    build_image: "PROVISIONING",
    start: "STARTING",
    stop: "STOPPING",
    retry: "STARTING",
    delete: "DELETING",
    // It recovered automatically, for example from a memory shortage on the machine.
    ready: "AVAILABLE",
    start_failed: "FAILED",
    lost: "FAILED",
  },
  DELETING: { ...REFUSE_ALL, delete: "DELETING", undelete: "STOPPED", stopped: "DELETING", lost: "DELETING" },
} as const satisfies Record<DatabaseState, Record<DatabaseEvent, Next>>;

/** The next state; undefined when the state does not allow the event. */
export function nextDatabaseState(state: DatabaseState, event: DatabaseEvent): DatabaseState | undefined {
  const next: Next = DATABASE_TRANSITIONS[state][event];
  return next === "refuse" ? undefined : next;
}
